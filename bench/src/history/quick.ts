/**
 * `npm run bench -- quick`: within five minutes, whether the work tree is slower than the commit before it. Every load is
 * measured in short slices first; the time that is left goes to those that are open. Exit status as for compare-commits.
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Cell, cells, type PreparedCell } from '../comparison/cells.ts';
import { type Checkouts, contestantsFor } from '../comparison/checkouts.ts';
import { type InstanceResult, measureInstance } from '../comparison/measure-instance.ts';
import { summaryOf } from '../comparison/summary.ts';
import { type ComparisonVerdict, comparisonVerdictOn, instancesMin, quickBounds } from '../comparison/verdict.ts';
import { pinning } from '../pinned-process.ts';
import { type EarlierCheckout, earlierCheckout, git, hasChanges } from './earlier-checkout.ts';
import { figuresFrom, type HistoryEntry, historyFrom } from './history.ts';
import { historyPlot, historyTable } from './history-report.ts';

const plan = { pairs: 6, sliceMs: 200, warmupMs: 400 };
/** Of everything after the build of the work tree. */
const totalMsMax = 285_000;

interface MeasuredLoad {
  readonly cell: Cell;
  readonly load: PreparedCell;
  readonly instances: InstanceResult[];
}

/** The exit status. */
export async function runQuick(root: string, quickArguments: readonly string[]): Promise<number> {
  const began = performance.now();
  const { values } = parseArgs({
    args: [...quickArguments],
    options: {
      /** A built checkout, or a commit that is built below .cache. */
      before: { type: 'string' },
      /** The same; without it the work tree. */
      after: { type: 'string' },
      cell: { type: 'string', multiple: true },
      /** Adds a line to bench/history.jsonl and draws the history again; not with uncommitted changes. */
      record: { type: 'boolean', default: false },
    },
  });
  const unknown = (values.cell ?? []).filter((wanted) => !cells.some(({ name }) => name === wanted));
  if (unknown.length > 0) return refused(`no load ${unknown.join(', ')}; there are ${cells.map(({ name }) => name)}`);
  if (process.platform !== 'linux') return refused('the processor time of a server is known on Linux only');
  if (values.record && values.after === undefined && hasChanges(root))
    return refused('--record needs a work tree without changes: commit first');
  let before: EarlierCheckout;
  let after: EarlierCheckout;
  try {
    before = earlierCheckout(root, values.before);
    after =
      values.after === undefined
        ? { folder: root, commit: git(root, 'rev-parse', 'HEAD') }
        : earlierCheckout(root, values.after);
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
  const compared = values.after === undefined ? '' : `${after.commit.slice(0, 8)} `;
  console.log(`${compared}against ${before.commit.slice(0, 8)}; ${pinning}`);
  const chosen = cells.filter(({ name }) => values.cell?.includes(name) ?? true);
  const verdicts = await measureAll(chosen, { before: before.folder, after: after.folder }, began + totalMsMax);
  if (values.record) record(root, { before: before.commit, after: after.commit }, verdicts);
  const outcomes = [...verdicts.values()].map(({ outcome }) => outcome);
  return outcomes.includes('slower') ? 1 : outcomes.includes('cannot tell') ? 3 : 0;
}

function refused(message: string): number {
  console.error(message);
  return 2;
}

async function measureAll(
  chosen: readonly Cell[],
  checkouts: Checkouts,
  endAt: number,
): Promise<ReadonlyMap<string, ComparisonVerdict>> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-quick-'));
  try {
    const measured: MeasuredLoad[] = [];
    for (const cell of chosen) measured.push({ cell, load: await cell.prepare(folder), instances: [] });
    // Round by round over all loads, so that a minute in which the machine is busy does not hit one load alone.
    let instanceMs = 0;
    for (let round = 0; ; round++) {
      const open = round < instancesMin ? measured : measured.filter((one) => verdictOn(one).outcome === 'cannot tell');
      if (open.length === 0) break;
      let isTimeUp = false;
      for (const { cell, load, instances } of open) {
        const began = performance.now();
        isTimeUp = round >= instancesMin && began + instanceMs > endAt;
        if (isTimeUp) break;
        const isAfterFirst = round % 2 === 1;
        instances.push(await measureInstance(contestantsFor(cell, checkouts), load, { ...plan, isAfterFirst }));
        instanceMs = Math.max(instanceMs, performance.now() - began);
      }
      if (isTimeUp) break;
    }
    for (const one of measured) console.log(summaryOf(one.cell.name, verdictOn(one), one.instances));
    return new Map(measured.map((one) => [one.cell.name, verdictOn(one)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function verdictOn({ instances }: MeasuredLoad): ComparisonVerdict {
  return comparisonVerdictOn(
    instances.map(({ pairs }) => pairs),
    quickBounds,
  );
}

function record(
  root: string,
  { before, after }: { readonly before: string; readonly after: string },
  verdicts: ReadonlyMap<string, ComparisonVerdict>,
): void {
  const entry: HistoryEntry = {
    commit: after,
    before,
    date: new Date().toISOString(),
    machine: `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.versions.node}`,
    loads: Object.fromEntries([...verdicts].map(([name, verdict]) => [name, figuresFrom(verdict)])),
  };
  appendFileSync(join(root, 'bench/history.jsonl'), `${JSON.stringify(entry)}\n`);
  drawHistory(root);
}

/** Writes bench/results/history.md and history.svg. */
export function drawHistory(root: string): void {
  const file = join(root, 'bench/history.jsonl');
  const history = existsSync(file) ? historyFrom(readFileSync(file, 'utf8')) : [];
  if (history.length === 0) return;
  writeFileSync(join(root, 'bench/results/history.svg'), historyPlot(history));
  writeFileSync(join(root, 'bench/results/history.md'), historyTable(history));
}
