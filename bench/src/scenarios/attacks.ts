/** The effect of every attack of tests/attacks on honest callers: their p99 with and without the attack, and the delays of the event loop. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canPin } from '../pinned-process.ts';
import type { ReportTable, Sample, Scenario } from '../scenario.ts';
import { quantile } from '../statistics.ts';

const program = fileURLToPath(new URL('../../../tests/dist/attacks/main.js', import.meta.url));
const calm = 'calm, p99';
const beside = ', p99 of a bystander';
/** Beside what the harness does to the server in this attack, without the attack. */
const besideFault = ', p99 beside the same kills without an attack';
const delayed = ', longest delay of the event loop';
/** Without the time for which the system gave the router's thread no core: server and workers have one core together here. */
const held = ', held by its own work';

/** As the suite writes them. */
interface SuiteReport {
  readonly attack: string;
  readonly isSharedAddress: boolean;
  /** Whether the harness did something to the server, in the attack and for its calm figures. */
  readonly hasFault: boolean;
  readonly bystander: { readonly latenciesMs: readonly number[] };
  readonly calm: { readonly latenciesMs: readonly number[] };
  readonly loop?: {
    readonly longestMs: number;
    readonly longestHeldMs: number;
    readonly histogram: Readonly<Record<string, number>>;
  };
}

async function runSuite(seconds: number): Promise<readonly SuiteReport[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-attacks-'));
  const file = join(folder, 'report.json');
  const given = ['--seconds', String(seconds), '--report', file, ...(canPin ? ['--pinned'] : [])];
  const child = spawn(process.execPath, [program, ...given], { stdio: ['ignore', 'ignore', 'inherit'] });
  // Whether attacks did harm is what the suite says; here only its figures count.
  await new Promise((resolve) => child.once('close', resolve));
  const reports = JSON.parse(readFileSync(file, 'utf8')) as readonly SuiteReport[];
  rmSync(folder, { recursive: true });
  return reports.filter(({ isSharedAddress }) => !isSharedAddress);
}

/** By bound: an object would put those that are whole numbers first. */
function inOrder(histogram: Readonly<Record<string, number>>): Record<string, number> {
  const bounds = Object.entries(histogram).sort(
    ([a], [b]) => Number(a.replace('+Inf', 'Infinity')) - Number(b.replace('+Inf', 'Infinity')),
  );
  return Object.fromEntries(bounds.map(([bound, count]) => [`≤ ${bound}`, count]));
}

/** Of a bystander beside an attack to the same bystander without it. */
function worstRatio(medians: Sample): number {
  const ratios = Object.entries(medians).map(([name, figure]) => {
    if (!name.endsWith(beside)) return 0;
    const alone = medians[`${name.slice(0, -beside.length)}${besideFault}`] ?? medians[calm];
    return figure / (alone as number);
  });
  return Math.max(...ratios);
}

const worst = (medians: Sample, ending: string): number =>
  Math.max(...Object.entries(medians).map(([name, figure]) => (name.endsWith(ending) ? figure : 0)));

export const attacksScenario: Scenario = {
  name: 'attacks',
  title: 'Honest callers of a whole server beside each attack',
  unit: 'ms',
  contestants: [calm],
  goals: [
    {
      statement: 'beside the worst attack: a bystander’s p99 at most 3 times the calm one',
      bound: 3,
      isMinimum: false,
      value: worstRatio,
    },
    {
      statement: 'beside the worst attack: the event loop delayed by at most 20 ms',
      bound: 20,
      isMinimum: false,
      value: (medians) => worst(medians, delayed),
    },
    {
      statement: 'beside the worst attack: the event loop held by its own work for at most 20 ms',
      bound: 20,
      isMinimum: false,
      value: (medians) => worst(medians, held),
    },
  ],
  open: async ({ seconds }) => {
    let latest: readonly SuiteReport[] = [];
    return {
      measure: async (): Promise<Sample> => {
        latest = await runSuite(seconds);
        const p99 = (values: readonly number[]): number => quantile(values, 0.99);
        const sample: Record<string, number> = {
          [calm]: p99(latest.flatMap((report) => (report.hasFault ? [] : report.calm.latenciesMs))),
        };
        for (const { attack, bystander, loop, ...report } of latest) {
          sample[`${attack}${beside}`] = p99(bystander.latenciesMs);
          if (report.hasFault) sample[`${attack}${besideFault}`] = p99(report.calm.latenciesMs);
          if (loop === undefined) continue;
          sample[`${attack}${delayed}`] = loop.longestMs;
          sample[`${attack}${held}`] = Math.max(0, loop.longestHeldMs);
        }
        return sample;
      },
      tables: (): readonly ReportTable[] => [
        {
          title: 'Delays of the event loop during each attack: samples by seconds, last repetition',
          rows: Object.fromEntries(latest.map(({ attack, loop }) => [attack, inOrder(loop?.histogram ?? {})])),
        },
      ],
      close: async () => {},
    };
  },
};
