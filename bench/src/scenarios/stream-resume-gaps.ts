/** How long durable streams stand still after each kind of fault, as tests/chaos/streams measures it while it checks them. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReportTable, Sample, Scenario } from '../scenario.ts';

const program = fileURLToPath(new URL('../../../tests/dist/chaos/streams/main.js', import.meta.url));
const streams = 200;
/** Less does not have every kind of fault. */
const secondsMin = 60;
const wrong = 'streams that went wrong';

/** As the program writes it. */
interface ChaosReport {
  readonly gaps: Readonly<Record<string, GapsOfCause>>;
  readonly edges: readonly EdgeOfRun[];
}

interface GapsOfCause {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly histogram: Readonly<Record<string, number>>;
}

interface EdgeOfRun {
  readonly edge: string;
  readonly streams: number;
  readonly outputs: number;
  readonly resumes: number;
  readonly wrong: number;
}

/** Rejects where a check failed: figures of a server that loses outputs say nothing. */
async function runChaos(seconds: number, seed: number): Promise<ChaosReport> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-chaos-'));
  const file = join(folder, 'report.json');
  const minutes = Math.max(seconds, secondsMin) / 60;
  const given = ['--minutes', `${minutes}`, '--streams', `${streams}`, '--seed', `${seed}`, '--report', file];
  try {
    const child = spawn(process.execPath, [program, ...given], { stdio: ['ignore', 'inherit', 'inherit'] });
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code !== 0) throw new Error(`the run with seed ${seed} failed with exit code ${code}; its output says why`);
    return JSON.parse(readFileSync(file, 'utf8')) as ChaosReport;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const streamResumeGapsScenario: Scenario = {
  name: 'stream-resume-gaps',
  title: `${streams} durable streams over all edges, one fault a second: from the fault until the stream goes on`,
  unit: 'ms',
  contestants: [wrong],
  goals: [
    {
      statement: 'no stream loses, doubles or changes an output, or ends without a reason',
      bound: 0,
      isMinimum: false,
      value: (medians) => medians[wrong] as number,
    },
  ],
  open: async ({ seconds }) => {
    let latest: ChaosReport | undefined;
    return {
      measure: async (repetition): Promise<Sample> => {
        latest = await runChaos(seconds, repetition + 1);
        const sample: Record<string, number> = {};
        for (const [cause, { p50Ms, p99Ms }] of Object.entries(latest.gaps)) {
          sample[`${cause}, p50`] = p50Ms;
          sample[`${cause}, p99`] = p99Ms;
        }
        sample[wrong] = latest.edges.reduce((sum, edge) => sum + edge.wrong, 0);
        return sample;
      },
      tables: (): readonly ReportTable[] => [
        {
          title: 'Streams by how long they stood still, in ms, last repetition',
          rows: Object.fromEntries(
            Object.entries(latest?.gaps ?? {}).map(([cause, { histogram }]) => [cause, histogram]),
          ),
        },
        {
          title: 'What went by each edge, last repetition',
          rows: Object.fromEntries(
            (latest?.edges ?? []).map(({ edge, ...figures }) => [
              edge,
              { streams: figures.streams, outputs: figures.outputs, resumes: figures.resumes },
            ]),
          ),
        },
      ],
      close: async () => {},
    };
  },
};
