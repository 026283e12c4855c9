/**
 * `node --expose-gc tests/dist/soak/load-cycles.js [--cycles 2000] [--lane inline]`: a model is loaded, asked once and
 * unloaded again and again, in this process. After a collection neither what the program holds nor what the process has
 * may have grown since the first tenth: sessions go when they are released, and nothing is remembered of them.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createEngine } from 'millrace';
import { repositoryRoot } from '../support/repository-root.ts';

const model = 'mlp';
const mebibyte = 1024 * 1024;
/** Compiled code goes on growing for some thousand cycles, by about half of this; what a load makes is far more. */
const heapBytesMax = 3 * mebibyte;
/** What the allocator keeps for the next load, and how it lies, varies. */
const residentBytesMax = 24 * mebibyte;

const { values } = parseArgs({
  options: { cycles: { type: 'string', default: '2000' }, lane: { type: 'string', default: 'inline' } },
});
const cycles = Number(values.cycles);
const collect = globalThis.gc;
if (collect === undefined) throw new Error('start it with node --expose-gc');

function measure(): { readonly heapBytes: number; readonly residentBytes: number } {
  collect?.();
  collect?.();
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return { heapBytes: process.memoryUsage().heapUsed, residentBytes: Number(resident) * 1024 };
}

const repository = mkdtempSync(join(tmpdir(), 'millrace-load-cycles-'));
cpSync(join(repositoryRoot, 'tests/models', model), join(repository, model), { recursive: true });
const engine = await createEngine({
  models: repository,
  worker: { lane: values.lane as 'inline' | 'local' },
  control: { controlMode: 'explicit' },
});
const step = Math.max(1, Math.floor(cycles / 10));
const samples: ReturnType<typeof measure>[] = [];
for (let cycle = 1; cycle <= step * 10; cycle++) {
  await engine.library.load(model);
  await engine.infer(model, { input: { shape: [1, 64], data: new Array<number>(64).fill(0) } });
  await engine.library.unload(model);
  if (cycle % step !== 0) continue;
  const seen = measure();
  samples.push(seen);
  const shown = [seen.heapBytes, seen.residentBytes].map((bytes) => (bytes / mebibyte).toFixed(1));
  console.log(`${cycle} cycles: ${shown[0]} MiB held, ${shown[1]} MiB resident`);
}
await engine.close();
rmSync(repository, { recursive: true });

const [first] = samples;
const last = samples.at(-1);
if (first === undefined || last === undefined) throw new Error('nothing was measured');
const heapGrowth = last.heapBytes - first.heapBytes;
const residentGrowth = last.residentBytes - first.residentBytes;
const isFlat = heapGrowth <= heapBytesMax && residentGrowth <= residentBytesMax;
const [held, resident] = [heapGrowth, residentGrowth].map((bytes) => `${(bytes / mebibyte).toFixed(1)} MiB`);
console.log(`since the first tenth ${held} more held, ${resident} more resident`);
console.log(isFlat ? '1 passed, 0 failed' : '0 passed, 1 failed');
process.exitCode = isFlat ? 0 : 1;
