/**
 * `node tests/dist/soak/large-bodies.js [--requests 20000] [--seed 1]`: requests of 64 to 600 KB over REST and gRPC, beside
 * callers that die within their body or their answer. Every answer must have the bytes of its own request; memory must be flat,
 * and at the end where it was after the first round: that of the router and its worker, what requests hold by the ledger, and
 * what is lent of the pool and of workers; and V8 must hardly ever have to collect all of the router's garbage. A million
 * requests (`--requests 1000000`) take about an hour on two cores.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ModelRepository } from '@millrace/worker/testing';
import { loadLargeBodies } from '../support/large-body-load.ts';
import { metricFrom } from '../support/metrics.ts';
import { repositoryRoot } from '../support/repository-root.ts';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, seed: { type: 'string', default: '1' } },
});
const requests = Number(values.requests);
const seed = Number(values.seed);
/** The first fills pools and compiles code: what comes after it is compared with its end. */
const rounds = 10;
/**
 * From the first round to this one collections of garbage are counted, from this one on memory is. Nobody dies while collections are
 * counted: what a connection that is cut leaves behind is old enough for a full collection, and says nothing about large bodies.
 */
const middle = rounds / 2;
/** One caller of so many dies. */
const dyingOneOf = 10;
const sizes = { least: 64_000, most: 602_112 };
/** Of the router, and of its worker: what allocators keep, and what V8 compiles later. */
const growthBytesMax = 32 * 1024 * 1024;
const requestsPerFullCollection = 10_000;
/** Memory that is free is given back after 5 to 10 s. */
const trimMsMax = 20_000;

interface Measured {
  readonly routerPss: number;
  readonly workerPss: number;
  /** The parts of both that they do not share: the memory between them is bounded by its size, and touched bit by bit. */
  readonly routerAnonymous: number;
  readonly workerAnonymous: number;
  readonly scavenges: number;
  /** But for those of this program. */
  readonly fullCollections: number;
}

const reporter = `data:text/javascript,${encodeURIComponent(`
  import { constants, PerformanceObserver } from 'node:perf_hooks';
  let scavenges = 0;
  let fullCollections = 0;
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) {
      if (detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) continue;
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) fullCollections++;
      else if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) scavenges++;
    }
  }).observe({ entryTypes: ['gc'] });
  process.on('message', (collects) => {
    if (collects) globalThis.gc();
    setImmediate(() => {
      if (collects) globalThis.gc();
      process.send({ scavenges, fullCollections });
    });
  });
  process.channel.unref();
`)}`;

const models = new ModelRepository();
models.copy(join(repositoryRoot, 'tests/models/identity_uint8'));
const server = spawn(
  process.execPath,
  [
    ...['--expose-gc', '--import', reporter, join(repositoryRoot, 'packages/millrace/bin/millrace.js'), 'serve'],
    ...[models.path, '--no-supervise', '--log-format', 'json'],
    ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'],
  ],
  { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
);
const output = server.stdout as Readable;
let text = '';
output.on('data', (piece: Buffer) => {
  text += piece.toString();
});

async function addressOf(name: string): Promise<string> {
  const form = new RegExp(`"${name}":"(http://[^"]+)"`);
  for (;;) {
    const found = form.exec(text);
    if (found !== null && text.includes('"message":"model ready"')) return found[1] as string;
    if (server.exitCode !== null) throw new Error(`the server ended: ${text}`);
    await Promise.race([once(output, 'data'), once(server, 'exit')]);
  }
}

function pssOf(pid: number, part: 'Pss' | 'Pss_Anon' = 'Pss'): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(new RegExp(`^${part}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1]) * 1024;
}

/** Of all processes that the router started. */
function workersPss(part: 'Pss' | 'Pss_Anon'): number {
  let bytes = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const parent = /\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))?.[1];
      if (Number(parent) === server.pid) bytes += pssOf(Number(name), part);
    } catch {
      // It has ended.
    }
  }
  return bytes;
}

/** Garbage that is collected for it makes V8 collect the next sooner, so that this cannot be done while collections are counted. */
async function measure(collects: boolean): Promise<Measured> {
  server.send(collects);
  const [counts] = (await once(server, 'message')) as [Pick<Measured, 'scavenges' | 'fullCollections'>];
  const pid = server.pid as number;
  return {
    routerPss: pssOf(pid),
    workerPss: workersPss('Pss'),
    routerAnonymous: pssOf(pid, 'Pss_Anon'),
    workerAnonymous: workersPss('Pss_Anon'),
    ...counts,
  };
}

/** What requests hold, by name. */
async function held(): Promise<Record<string, number>> {
  const metrics = await (await fetch(metricsUrl)).text();
  const read = (name: string, labels: Record<string, string>): number => metricFrom(metrics, name, labels);
  return {
    lent: read('millrace_body_memory_bytes', { state: 'lent' }),
    placed: read('millrace_body_memory_bytes', { state: 'placed' }),
    free: read('millrace_body_memory_bytes', { state: 'free' }),
    shared: read('millrace_request_memory_bytes', { part: 'shared' }),
    small: read('millrace_request_memory_bytes', { part: 'small' }),
    completion: read('millrace_request_memory_bytes', { part: 'completion' }),
  };
}

/** Waits until nobody holds anything, and free memory has been given back; what is still held then. */
async function heldAtRest(): Promise<Record<string, number>> {
  const end = performance.now() + trimMsMax;
  for (;;) {
    const now = await held();
    const isAtRest = Object.entries(now).every(([name, bytes]) => bytes === idle[name]);
    if (isAtRest || performance.now() > end) return now;
    await wait(250);
  }
}

const url = await addressOf('httpUrl');
const grpcUrl = await addressOf('grpcUrl');
const metricsUrl = await addressOf('metricsUrl');
/** What the request that asks for it holds. */
const idle = await held();
if (!Object.values(idle).some((bytes) => bytes > 0)) throw new Error('the metrics do not show what a request holds');
const problems: string[] = [];
let first: Measured | undefined;
let last: Measured | undefined;
let counted: Measured | undefined;
const settled: number[] = [];
for (let round = 0; round < rounds; round++) {
  const began = performance.now();
  const isCounted = round > 0 && round < middle;
  const report = await loadLargeBodies(
    { url, grpcUrl, model: 'identity_uint8' },
    {
      seed: seed * 1000 + round,
      requests: Math.ceil(requests / rounds),
      sizes,
      callers: 8,
      dyingOneOf: isCounted ? Number.POSITIVE_INFINITY : dyingOneOf,
    },
  );
  const seconds = Math.round((performance.now() - began) / 1000);
  problems.push(...report.wrong);
  const atRest = round === 0 || round === rounds - 1 ? await heldAtRest() : undefined;
  for (const [name, bytes] of Object.entries(atRest ?? {})) {
    if (bytes !== idle[name]) problems.push(`after round ${round} ${bytes} bytes are ${name}, not ${idle[name]}`);
  }
  last = await measure(round === 0 || round >= middle);
  if (round >= middle) settled.push(last.routerAnonymous);
  if (round === middle - 1) counted = last;
  first ??= last;
  console.log(JSON.stringify({ round, seconds, answered: report.answered, died: report.died, ...last }));
}

/** Bytes a round by which a line through what was measured rises. */
function growthPerRound(): number {
  const mean = (settled.length - 1) / 2;
  let [covariance, variance] = [0, 0];
  for (const [index, bytes] of settled.entries()) {
    covariance += (index - mean) * bytes;
    variance += (index - mean) ** 2;
  }
  return covariance / variance;
}

const slope = growthPerRound();
console.log(`slope: ${Math.round((slope / (requests / rounds)) * 10_000)} bytes for 10,000 requests`);
if (first !== undefined && last !== undefined && counted !== undefined) {
  for (const name of ['routerAnonymous', 'workerAnonymous'] as const) {
    const growth = last[name] - first[name];
    if (growth > growthBytesMax) problems.push(`${name} grew by ${growth} bytes after the first round`);
  }
  if (slope * rounds > growthBytesMax) problems.push(`memory of the router grows by ${slope} bytes a round`);
  const full = counted.fullCollections - first.fullCollections;
  const countedRequests = (requests * (middle - 1)) / rounds;
  const fullMax = Math.ceil(countedRequests / requestsPerFullCollection);
  if (full > fullMax) problems.push(`${full} full collections, at most ${fullMax} are allowed`);
}
server.kill('SIGTERM');
await once(server, 'exit');
models.remove();
for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? 'passed' : `${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
