/**
 * Serves random graphs and compares the answers with ONNX Runtime's. Usage: node main.js [--from SEED] [--graphs N] [--report FILE]
 * [--python PATH] [--lane inline|local|wire] [--force-sharing] [--verdicts-only], or --seed SEED for one graph. See README.md beside the source.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../../support/repository-root.ts';
import { ChunkServer } from './chunk-server.ts';
import { Figures } from './figures.ts';
import { Generator } from './generator.ts';
import type { LaneName } from './result.ts';
import { shrink } from './shrink.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '0' },
    graphs: { type: 'string', default: '2000' },
    seed: { type: 'string' },
    report: { type: 'string' },
    python: { type: 'string', default: join(repositoryRoot, '.cache/venv/bin/python') },
    lane: { type: 'string' },
    chunk: { type: 'string', default: '250' },
    'force-sharing': { type: 'boolean', default: false },
    'verdicts-only': { type: 'boolean', default: false },
    'shrink-max': { type: 'string', default: '10' },
  },
});
const from = Number(values.seed ?? values.from);
const graphs = values.seed === undefined ? Number(values.graphs) : 1;
const chunkSize = Number(values.chunk);
const shrinksMax = Number(values['shrink-max']);
if (
  ![from, graphs, chunkSize, shrinksMax].every((number) => Number.isInteger(number) && number >= 0) ||
  chunkSize === 0
) {
  process.stderr.write('--from, --seed, --graphs, --chunk and --shrink-max must be whole numbers\n');
  process.exit(2);
}
if (!existsSync(values.python)) {
  process.stderr.write(
    `${values.python} is not there; run tests/oracle/run.sh, or give --python with the requirements installed\n`,
  );
  process.exit(2);
}
const isSharingForced = values['force-sharing'];
const isVerdictOnly = values['verdicts-only'];
const lane = values.lane as LaneName | undefined;

const work = mkdtempSync(join(tmpdir(), 'millrace-oracle-'));
const generator = new Generator(values.python, work);
const server = new ChunkServer();
const figures = new Figures();
const failuresFolder = join(repositoryRoot, '.cache/oracle/failures');
const startedMs = performance.now();
let shrunk = 0;

function makeChunk(at: number): Promise<string> | undefined {
  if (at >= from + graphs) return undefined;
  const folder = join(work, `chunk-${at}`);
  return generator.make({ folder, from: at, count: Math.min(chunkSize, from + graphs - at) }).then(() => folder);
}

function tellProgress(): void {
  const seconds = (performance.now() - startedMs) / 1000;
  const perGraph = (1000 * seconds) / figures.results.length;
  process.stdout.write(
    `${figures.results.length} graphs, ${figures.failed.length} failed, ${seconds.toFixed(0)} s, ${perGraph.toFixed(1)} ms a graph\n`,
  );
}

try {
  let next = makeChunk(from);
  for (let at = from; next !== undefined; at += chunkSize) {
    const folder = await next;
    // The following chunk is made while this one is served.
    next = makeChunk(at + chunkSize);
    next?.catch(() => {});
    const order = { folder, isSharingForced, isVerdictOnly, ...(lane === undefined ? {} : { lane }) };
    const results = await server.serve(order);
    const before = Math.floor(figures.results.length / 1000);
    figures.add(results);
    if (Math.floor(figures.results.length / 1000) > before) tellProgress();
    for (const result of results) {
      if (result.failures.length === 0 || isSharingForced) continue;
      process.stdout.write(`seed ${result.seed} (${result.lane}): ${JSON.stringify(result.failures)}\n`);
      if (shrunk >= shrinksMax) continue;
      shrunk++;
      // The generator is busy with the next chunk: its turn comes first.
      await next;
      const place = join(failuresFolder, String(result.seed));
      rmSync(place, { recursive: true, force: true });
      mkdirSync(place, { recursive: true });
      process.stdout.write(`${await shrink({ order, result, generator, server, place })}\n`);
    }
    rmSync(folder, { recursive: true, force: true });
  }
} finally {
  generator.stop();
  await server.stop();
  rmSync(work, { recursive: true, force: true });
}
figures.skipped = generator.ended;
tellProgress();
process.stdout.write(`${figures.text()}\n`);
if (values.report !== undefined) {
  const document = { ...figures.summary(), operators: Object.fromEntries(figures.operators()), failed: figures.failed };
  writeFileSync(values.report, `${JSON.stringify(document, undefined, 2)}\n`);
}
const failed = figures.failed.length;
const passed = figures.results.length - failed;
const { sharedRuns } = figures.summary();
// Where nothing was ever shared, nothing was shown.
const isVacuous = graphs >= 100 && sharedRuns === 0 && !isVerdictOnly;
if (isVacuous) process.stdout.write('no run was shared by two requests\n');
process.stdout.write(`${passed} passed, ${failed + (isVacuous ? 1 : 0)} failed\n`);
process.exitCode = failed > 0 || isVacuous ? 1 : 0;
