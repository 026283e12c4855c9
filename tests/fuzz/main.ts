/**
 * Fuzzes the wire in memory. Usage: node main.js [--inputs N] [--seed S] [--only TARGET]
 * Every input has its own seed, printed when it fails: `--only TARGET --seed THAT --inputs 1` repeats it.
 */
import { parseArgs } from 'node:util';
import { fuzzFrames } from './fuzz-frames.ts';
import { fuzzHpack } from './fuzz-hpack.ts';
import { fuzzHttp1 } from './fuzz-http1.ts';
import { fuzzStateful } from './fuzz-stateful.ts';
import { runOracles } from './oracles.ts';
import { FuzzRandom } from './random.ts';

const targets: Readonly<Record<string, (random: FuzzRandom) => void>> = {
  frames: fuzzFrames,
  hpack: fuzzHpack,
  http1: fuzzHttp1,
  stateful: fuzzStateful,
};
/** Heap that a run may gain, however long: what grows with the number of inputs is a leak. */
const heapGrowthBytesMax = 64 * 1024 * 1024;

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
});
const inputs = Number(values.inputs);
const firstSeed = Number(values.seed);
if (!Number.isInteger(inputs) || inputs < 1 || !Number.isInteger(firstSeed)) {
  process.stderr.write('--inputs and --seed must be whole numbers\n');
  process.exit(2);
}

let passed = 0;
let failed = 0;

function fuzz(name: string, target: (random: FuzzRandom) => void, count: number): void {
  const startedMs = performance.now();
  const failedBefore = failed;
  let heapBefore = 0;
  for (let at = 0; at < count; at++) {
    if (at === Math.floor(count / 10)) heapBefore = process.memoryUsage().heapUsed;
    const seed = (firstSeed + at) >>> 0;
    try {
      target(new FuzzRandom(seed));
    } catch (error) {
      failed++;
      process.stdout.write(`${name} seed ${seed}: ${error instanceof Error ? error.stack : String(error)}\n`);
      if (failed >= 5) return;
    }
  }
  globalThis.gc?.();
  const grown = process.memoryUsage().heapUsed - heapBefore;
  if (grown > heapGrowthBytesMax) {
    failed++;
    process.stdout.write(`${name}: the heap grew by ${grown} bytes\n`);
  }
  // A target counts once, however many inputs it took.
  if (failed === failedBefore) passed++;
  const seconds = (performance.now() - startedMs) / 1000;
  process.stdout.write(`${name}: ${count} inputs in ${seconds.toFixed(1)} s\n`);
}

const chosen = Object.entries(targets).filter(([name]) => values.only === undefined || name === values.only);
for (const [name, target] of chosen) fuzz(name, target, Math.ceil(inputs / chosen.length));
if (values.only === undefined || values.only === 'oracles') {
  const problems = await runOracles(new FuzzRandom(firstSeed), Math.max(20, Math.min(5000, Math.ceil(inputs / 1000))));
  for (const problem of problems) process.stdout.write(`${problem}\n`);
  failed += problems.length;
  if (problems.length === 0) passed++;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
