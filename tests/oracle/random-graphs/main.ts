/**
 * Serves random graphs and compares the answers with ONNX Runtime's. Usage: node main.js [--from SEED] [--graphs N] [--report FILE]
 * [--python PATH] [--lane inline|local|wire] [--verdicts-only], or --seed SEED for one graph. README.md beside the source says more.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../../support/repository-root.ts';
import { Figures } from './figures.ts';
import type { CaseResult, OracleLane } from './result.ts';
import { pythonDefault, runGraphs, type ServedChunk } from './run-graphs.ts';
import { shrink } from './shrink.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '0' },
    graphs: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    report: { type: 'string' },
    python: { type: 'string', default: pythonDefault },
    lane: { type: 'string' },
    chunk: { type: 'string', default: '400' },
    'verdicts-only': { type: 'boolean', default: false },
    'shrinks-max': { type: 'string', default: '10' },
  },
});
const from = Number(values.seed ?? values.from);
const graphs = values.seed === undefined ? Number(values.graphs) : 1;
const graphsInChunk = Number(values.chunk);
const shrinksMax = Number(values['shrinks-max']);
const lanes: readonly (string | undefined)[] = ['inline', 'local', 'wire', undefined];
const isWhole = [from, graphs, graphsInChunk, shrinksMax].every((number) => Number.isInteger(number) && number >= 0);
if (!isWhole || graphsInChunk === 0 || !lanes.includes(values.lane)) {
  process.stderr.write(
    '--from, --seed, --graphs, --chunk and --shrinks-max take whole numbers; --lane inline, local or wire\n',
  );
  process.exit(2);
}
const isVerdictOnly = values['verdicts-only'];
const lane = values.lane as OracleLane | undefined;
const failuresFolder = join(repositoryRoot, '.cache/oracle/failures');
/** A progress line is written after so many graphs. */
const progressEvery = 1000;

const figures = new Figures();
const startedMs = performance.now();
let shrunk = 0;

function tellProgress(): void {
  const seconds = (performance.now() - startedMs) / 1000;
  const count = figures.results.length;
  const each = `${((1000 * seconds) / count).toFixed(1)} ms a graph`;
  process.stdout.write(`${count} graphs, ${figures.failed.length} failed, ${seconds.toFixed(0)} s, ${each}\n`);
}

async function keepSmallest({ order, server, freeGenerator }: ServedChunk, result: CaseResult): Promise<void> {
  if (shrunk >= shrinksMax) return;
  shrunk++;
  const folder = join(failuresFolder, String(result.seed));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const line = await shrink({ order, result, generator: await freeGenerator(), server, failureFolder: folder });
  process.stdout.write(`${line}\n`);
}

figures.notes = await runGraphs(
  {
    python: values.python,
    from,
    graphs,
    graphsInChunk,
    serving: { isVerdictOnly, ...(lane === undefined ? {} : { lane }) },
  },
  async (chunk) => {
    const thousands = Math.floor(figures.results.length / progressEvery);
    figures.add(chunk.results);
    if (Math.floor(figures.results.length / progressEvery) > thousands) tellProgress();
    for (const result of chunk.results.filter(({ failures }) => failures.length > 0)) {
      process.stdout.write(`seed ${result.seed} (${result.lane}): ${JSON.stringify(result.failures)}\n`);
      await keepSmallest(chunk, result);
    }
  },
);

tellProgress();
process.stdout.write(`${figures.text()}\n`);
if (values.report !== undefined) {
  mkdirSync(dirname(values.report), { recursive: true });
  const document = { ...figures.summary(), operators: Object.fromEntries(figures.operators()), failed: figures.failed };
  writeFileSync(values.report, `${JSON.stringify(document, undefined, 2)}\n`);
}
// Where no requests ever shared a run, nothing was shown about sharing.
const isVacuous = graphs >= 100 && !isVerdictOnly && figures.summary().sharedRuns === 0;
if (isVacuous) process.stdout.write('no run was shared by two requests\n');
const { missing } = figures.coverage();
const isIncomplete = graphs >= 2000 && missing.length > 0;
if (isIncomplete)
  process.stdout.write(`operators that the row analysis knows and no graph has: ${missing.join(', ')}\n`);
const failed = figures.failed.length + (isVacuous ? 1 : 0) + (isIncomplete ? 1 : 0);
process.stdout.write(`${figures.results.length - figures.failed.length} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;
