/**
 * Whether one checkout of this repository is slower than another, both built: `--before DIR --after DIR [--pairs 9]`. For each
 * load the servers are started in turn, measured and stopped, pair by pair. Exit status 0: no slower; 1: slower; 2: not run.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Cell, cells, type PreparedCell } from '../comparison/cells.ts';
import { type Measurement, type Pair, pairsMin, type Verdict, verdictOn } from '../comparison/verdict.ts';
import { millraceServing, startContestants, stopContestants } from '../contestant.ts';
import { pinning } from '../pinned-process.ts';
import { withProcessorMicros } from '../processor-time.ts';

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    after: { type: 'string' },
    pairs: { type: 'string', default: String(pairsMin) },
    /** Of measured load, and of load before it. */
    seconds: { type: 'string', default: '3' },
    warmup: { type: 'string', default: '2' },
    /** Only these loads. */
    cell: { type: 'string', multiple: true },
  },
});

function programOf(flag: 'before' | 'after'): string {
  const checkout = resolve(values[flag] ?? '');
  const program = join(checkout, 'packages/millrace/bin/millrace.js');
  if (values[flag] !== undefined && existsSync(program) && existsSync(join(checkout, 'packages/millrace/dist')))
    return program;
  console.error(`--${flag} must be a checkout of this repository that is built (npm ci && npx tsc -b): ${checkout}`);
  process.exit(2);
}

async function measure(program: string, { name, modelPath }: Cell, load: PreparedCell): Promise<Measurement> {
  const servers = await startContestants([millraceServing(modelPath, 'local', program)]);
  try {
    const [{ port, child }] = servers as [(typeof servers)[0]];
    await load.run(port, Number(values.warmup));
    const { result, micros } = await withProcessorMicros(
      child.pid,
      () => load.run(port, Number(values.seconds)),
      ({ answered }) => answered,
    );
    if (micros === undefined) throw new Error(`${name}: the processor time of the server is known on Linux only`);
    return { requestsPerSecond: result.requestsPerSecond, serverMicros: micros };
  } finally {
    await stopContestants(servers);
  }
}

function line(name: string, verdict: Verdict): string {
  const { microsBefore, microsAfter, microsRatio, rateRatio, rateInterval, outcome } = verdict;
  const micros = `${microsBefore.toFixed(1)} → ${microsAfter.toFixed(1)} server µs a request (${microsRatio.toFixed(3)})`;
  const rate = `throughput ${rateRatio.toFixed(3)} (95 %: ${rateInterval.map((bound) => bound.toFixed(3)).join(' to ')})`;
  return `${name.padEnd(16)} ${micros}, ${rate}: ${outcome}`;
}

const programs = { before: programOf('before'), after: programOf('after') };
const chosen = cells.filter(({ name }) => values.cell?.includes(name) ?? true);
if (chosen.length === 0) {
  console.error(`no such load; there are ${cells.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
console.log(`${values.pairs} pairs of ${values.seconds} s; ${pinning}; load average ${loadavg()[0]?.toFixed(1)}`);
const folder = mkdtempSync(join(tmpdir(), 'millrace-compare-'));
let isSlower = false;
try {
  for (const cell of chosen) {
    const load = await cell.prepare(folder);
    const pairs: Pair[] = [];
    for (let index = 0; index < Number(values.pairs); index++) {
      // Who goes first changes, so that what drifts harms both alike.
      const sides = index % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const);
      const pair: Partial<Record<keyof Pair, Measurement>> = {};
      for (const side of sides) pair[side] = await measure(programs[side], cell, load);
      pairs.push(pair as Pair);
    }
    const verdict = verdictOn(pairs);
    isSlower ||= verdict.outcome === 'slower';
    console.log(line(cell.name, verdict));
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exitCode = isSlower ? 1 : 0;
