/**
 * `node tests/dist/chaos/streams/main.js [--minutes 1] [--streams 200] [--seed 1] [--model MODEL] [--report FILE]`: durable streams of a
 * real server over all its edges, while its workers, its router and the connections of its clients die. Every stream must
 * give what it gives undisturbed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ChaosProxy } from 'millrace/internal';
import { FuzzRandom } from '../../fuzz/random.ts';
import { ServerProcess } from '../../support/server-process.ts';
import { edgeFigures } from './edge-figures.ts';
import { dialects } from './edges.ts';
import { Faults, type Seat } from './faults.ts';
import { GapWatch } from './gap-watch.ts';
import { JournalWatch } from './journal-watch.ts';
import { plansFor, streamedModels, writeStreamModels } from './stream-plans.ts';
import { StreamRun } from './stream-run.ts';
import { verdictOn } from './verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    streams: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    /** Streams of this model only; all models are served, and killed, all the same. */
    model: { type: 'string' },
    /** For the figures as JSON. */
    report: { type: 'string' },
  },
});
const [seconds, streams, seed] = [Number(values.minutes) * 60, Number(values.streams), Number(values.seed)];
const paceMs = 700;
const routerKillSeconds = 20;

const models = values.model === undefined ? streamedModels : streamedModels.filter((model) => model === values.model);
if (models.length === 0) throw new Error(`--model must be one of ${streamedModels.join(', ')}, not ${values.model}`);
const random = new FuzzRandom(seed);
const repository = writeStreamModels();
const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-'));
const server = await ServerProcess.start([repository.path], {
  environment: { TMPDIR: folder },
});
// However this ends, nothing is left behind.
process.once('exit', () => {
  server.child.kill('SIGKILL');
  repository.remove();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const serverAddress = server.grpcUrl.replace(/^http:\/\//, '');
const gaps = new GapWatch();
const run = new StreamRun({
  plans: plansFor(random, seconds, paceMs).filter(({ model }) => values.model === undefined || model === values.model),
  dialects,
  random,
  gaps,
  paceMs,
  onOpened: () => faults?.notice('opened'),
  onInput: () => faults?.notice('input'),
});
let faults: Faults | undefined;
await run.learn(serverAddress);
console.log(`seed ${seed}: ${run.outputCount} outputs of the undisturbed run`);

const port = Number(serverAddress.split(':').at(-1));
const seats: Seat[] = await Promise.all(
  Array.from({ length: streams }, async () => ({
    path: await ChaosProxy.open({ target: { host: '127.0.0.1', port }, random: Math.random }),
    client: undefined,
  })),
);
const rivalDialects = dialects.filter(({ hasOneInput }) => !hasOneInput);
faults = new Faults({ server, seats, random, gaps, rivalDialects, serverAddress });
const usage = new JournalWatch(server, folder);
const occupied = run.occupy(seats);
for (let second = 1; second <= seconds; second++) {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  faults.next(second % routerKillSeconds === 0);
  usage.sample();
  if (second % 60 === 0) console.log(`minute ${second / 60}: ${run.clients.length} streams so far`);
}
await faults.settle();
run.stop();
await occupied;
usage.sample();
await Promise.all(seats.map(({ path }) => path.close()));
const exitCode = await server.stop();
const isGood = verdictOn({ run, faults, gaps, usage, exitCode, seats: streams, models });
if (values.report !== undefined) {
  const report = { seconds, streams, isGood, gaps: gaps.figures(), edges: edgeFigures(run, models) };
  writeFileSync(values.report, `${JSON.stringify(report, undefined, 2)}\n`);
}
process.exit(isGood ? 0 : 1);
