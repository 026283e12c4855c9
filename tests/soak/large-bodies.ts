/**
 * `node tests/dist/soak/large-bodies.js [--requests 1000000]`: large requests over REST and gRPC, beside callers that die in
 * the middle. Every answer must have the bytes of its own request, memory must stay flat, and V8 must hardly ever have to
 * collect all of the router's garbage.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { ModelRepository } from '@millrace/worker/testing';
import { loadLargeBodies } from '../support/large-body-load.ts';
import { repositoryRoot } from '../support/repository-root.ts';

const { values } = parseArgs({ options: { requests: { type: 'string', default: '1000000' } } });
const requests = Number(values.requests);
const rounds = 10;
/** From the second round on; the first fills pools and compiles code. */
const growthBytesMax = 64 * 1024 * 1024;
const requestsPerFullCollection = 10_000;

interface Measured {
  readonly rss: number;
  readonly external: number;
  readonly scavenges: number;
  readonly fullCollections: number;
}

const reporter = `data:text/javascript,${encodeURIComponent(`
  import { constants, PerformanceObserver } from 'node:perf_hooks';
  let scavenges = 0;
  let fullCollections = 0;
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) {
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) fullCollections++;
      else if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) scavenges++;
    }
  }).observe({ entryTypes: ['gc'] });
  process.on('message', () => {
    const { rss, external } = process.memoryUsage();
    process.send({ rss, external, scavenges, fullCollections });
  });
  process.channel.unref();
`)}`;

const models = new ModelRepository();
models.copy(join(repositoryRoot, 'tests/models/identity_uint8'));
const server = spawn(
  process.execPath,
  [
    ...['--import', reporter, join(repositoryRoot, 'packages/millrace/bin/millrace.js'), 'serve'],
    ...[models.path, '--no-supervise', '--log-format', 'json'],
    ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'],
  ],
  { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
);
const output = server.stdout as Readable;

async function addressOf(name: string, log: () => string): Promise<string> {
  const form = new RegExp(`"${name}":"(http://[^"]+)"`);
  for (;;) {
    const found = form.exec(log());
    if (found !== null && log().includes('"message":"model ready"')) return found[1] as string;
    if (server.exitCode !== null) throw new Error(`the server ended: ${log()}`);
    await Promise.race([once(output, 'data'), once(server, 'exit')]);
  }
}

async function measure(): Promise<Measured> {
  server.send('measure');
  const [measured] = (await once(server, 'message')) as [Measured];
  return measured;
}

let text = '';
output.on('data', (piece: Buffer) => {
  text += piece.toString();
});
const url = await addressOf('httpUrl', () => text);
const grpcUrl = await addressOf('grpcUrl', () => text);
const problems: string[] = [];
let first: Measured | undefined;
let last: Measured | undefined;
const settled: number[] = [];
for (let round = 0; round < rounds; round++) {
  const report = await loadLargeBodies(
    { url, grpcUrl, model: 'identity_uint8' },
    { seed: round, requests: requests / rounds, sizes: [100_000, 600_000, 602_112], callers: 8, dyingOneOf: 10 },
  );
  problems.push(...report.wrong);
  last = await measure();
  if (first !== undefined) settled.push(last.rss);
  first ??= last;
  console.log(JSON.stringify({ round, answered: report.answered, died: report.died, ...last }));
}

/** How fast memory grows after the first round, as the line of least squares through what was measured. */
function growthPerRound(): number {
  const middle = (settled.length - 1) / 2;
  let [covariance, variance] = [0, 0];
  for (const [round, rss] of settled.entries()) {
    covariance += (round - middle) * rss;
    variance += (round - middle) ** 2;
  }
  return covariance / variance;
}

console.log(`slope: ${Math.round((growthPerRound() / (requests / rounds)) * 10_000)} bytes for 10,000 requests`);
if (first !== undefined && last !== undefined) {
  const growth = last.rss - first.rss;
  if (growth > growthBytesMax) problems.push(`memory grew by ${growth} bytes after the first round`);
  const full = last.fullCollections - first.fullCollections;
  const fullMax = Math.ceil((requests * (rounds - 1)) / rounds / requestsPerFullCollection);
  if (full > fullMax) problems.push(`${full} full collections, at most ${fullMax} are allowed`);
}
server.kill('SIGTERM');
await once(server, 'exit');
models.remove();
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
