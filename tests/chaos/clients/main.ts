/**
 * `node tests/dist/chaos/clients/main.js [--minutes 2] [--streams 1000] [--seed 1]`: streams of @millrace/client over all its
 * transports, at most 50 of them of a generator, while workers, links and routers die. Every stream must give what it gives
 * undisturbed, and nothing may be left at the end, here or on the server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type Client,
  connectTransport,
  createClient,
  eventTransport,
  grpcWebTransport,
  type TransportFactory,
  webSocketTransport,
} from '@millrace/client';
import { grpcTransport } from '@millrace/client/grpc';
import { ChaosProxy } from 'millrace/internal';
import { WebSocket } from 'ws';
import { nearestRank } from '../../attacks/quantile.ts';
import { FuzzRandom } from '../../fuzz/random.ts';
import { eventually } from '../../support/eventually.ts';
import { ServerProcess } from '../../support/server-process.ts';
import { plansFor, type StreamPlan, writeStreamModels } from '../streams/stream-plans.ts';
import { BudgetedCalls } from './budgeted-calls.ts';
import { ClientFaults } from './client-faults.ts';
import { ClientStream, resumeSeconds } from './client-stream.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    streams: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
  },
});
const [seconds, streams, seed] = [Number(values.minutes) * 60, Number(values.streams), Number(values.seed)];
/** So that all streams together send 250 inputs a second. */
const paceMs = streams * 4;
const generatorsMax = 50;
const routerKillSeconds = 20;
/** Streams for each proxy, over every transport. */
const streamsAPath = 25;
/** How long streams may take after the last fault. */
const settleMsMax = 240_000;
/** The server pings a silent connection after 60 s and closes it 20 s later; until then a stream that was left in a black hole is attached. */
const noticeMsMax = 120_000;

const transports: readonly (readonly [name: string, make: () => TransportFactory])[] = [
  ['gRPC', () => grpcTransport()],
  ['WebSocket', () => webSocketTransport({ WebSocket })],
  ['events', () => eventTransport()],
  ['Connect', () => connectTransport()],
  ['gRPC-Web', () => grpcWebTransport()],
];

const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(`unhandled rejection: ${describe(reason)}`));
process.on('uncaughtException', (error) => unhandled.push(`uncaught exception: ${describe(error)}`));

const random = new FuzzRandom(seed);
const repository = writeStreamModels();
const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-clients-'));
const server = await ServerProcess.start(
  [
    repository.path,
    ...['--stream-resume-seconds', String(resumeSeconds)],
    // All of them come from one address.
    ...['--connections-per-address-max', '10000'],
  ],
  { environment: { TMPDIR: folder } },
);
// However this ends, nothing is left behind.
process.once('exit', () => {
  server.child.kill('SIGKILL');
  repository.remove();
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const plans = plansFor(random, seconds, paceMs);
const expected = new Map<StreamPlan, readonly string[]>();
const direct = createClient(server.url);
await Promise.all(
  plans.map(async (plan) => {
    const common = { client: direct, transport: 'gRPC', paceMs: 0, leaveAfter: undefined };
    const stream = new ClientStream({ ...common, plan, expected: undefined });
    await stream.run();
    if (stream.ending !== 'done' || stream.problems.length > 0) {
      throw new Error(`the undisturbed run failed: ${stream.title}: ${stream.ending} ${stream.problems.join('; ')}`);
    }
    expected.set(plan, stream.outputs);
  }),
);
direct.close();
console.log(`seed ${seed}: ${plans.length} plans, ${[...expected.values()].flat().length} outputs undisturbed`);

const target = { host: '127.0.0.1', port: Number(new URL(server.url).port) };
const paths = await Promise.all(
  Array.from({ length: Math.ceil(streams / streamsAPath) }, () => ChaosProxy.open({ target, random: Math.random })),
);
const calls = new BudgetedCalls(random);
const clients: (readonly [transport: string, client: Client])[] = paths.flatMap(({ address: { host, port } }) =>
  transports.map(([name, make]) => {
    return [name, createClient(`http://${host}:${port}`, { transport: make(), observe: calls.observe })] as const;
  }),
);
const faults = new ClientFaults(server, paths, random);
const begun: ClientStream[] = [];
let isOver: boolean = false;

const isStory = ({ model }: StreamPlan): boolean => model === 'storyteller';
const stories = plans.filter(isStory);
const others = plans.filter((plan) => !isStory(plan));
const generators = Math.min(generatorsMax, Math.ceil(streams / 20));

const hasEnded = (): boolean => isOver;

/** One stream after the other until the time is over. */
async function occupy(seat: number): Promise<void> {
  const [transport, client] = clients[seat % clients.length] as (typeof clients)[number];
  // Not all in the same turn.
  await new Promise((resolve) => setTimeout(resolve, random.below(3000)));
  for (let count = 0; count === 0 || !hasEnded(); count++) {
    const plan = random.pick(seat < generators ? stories : others);
    const wanted = expected.get(plan) ?? [];
    const leaveAfter = random.oneIn(16) ? Math.ceil(wanted.length / 2) : undefined;
    const stream = new ClientStream({ client, transport, plan, expected: wanted, paceMs, leaveAfter });
    begun.push(stream);
    if (hasEnded()) stream.hurry();
    await stream.run();
  }
}

const occupied = Promise.all(Array.from({ length: streams }, (_, seat) => occupy(seat)));
for (let second = 1; second <= seconds; second++) {
  await new Promise((resolve) => setTimeout(resolve, 1000));
  faults.next(second % routerKillSeconds === 0);
  for (let count = 0; count < 10; count++) calls.call(random.pick(clients)[1]);
  if (second % 10 === 0) console.log(`second ${second}: ${progress()}`);
}
await faults.settle();
isOver = true;
for (const stream of begun) stream.hurry();
console.log(`no more faults: ${progress()}`);
const progressTimer = setInterval(() => console.log(`  ${progress()}`), 10_000);
const stuckTimer = setTimeout(() => {
  const running = begun.filter(({ endedAt }) => endedAt === 0);
  for (const stream of running) stream.abandon(`stuck: it had not ended ${settleMsMax} ms after the last fault`);
}, settleMsMax);
await occupied;
clearTimeout(stuckTimer);
clearInterval(progressTimer);
await calls.settle();

const leaks: string[] = [];
const mustBecome = (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> =>
  eventually(what, isSo, noticeMsMax).catch((error: Error) => void leaks.push(error.message));
// A client tells a server that it cannot reach of a stream that was left for five seconds; then the stream waits there, and expires.
const leftCount = begun.filter(({ ending }) => ending === 'left').length;
const streamsIn = (state: string): Promise<number> => server.metric('millrace_streams', { state });
await mustBecome('no stream is attached', async () => (await streamsIn('attached')) === 0);
await mustBecome('only streams that were left are detached', async () => (await streamsIn('detached')) <= leftCount);
console.log(
  `${leftCount} streams were left by their programs; the server did not learn of ${await streamsIn('detached')}`,
);
for (const [, client] of clients) client.close();
for (const path of paths) path.apply({ kind: 'heal' });
await mustBecome('no connection that works is left', () => paths.every(({ isHealthy }) => !isHealthy));
// Of those in a black hole the server's end is still open, and the proxy has two sockets for each. The program has none.
const resources = (pattern: RegExp): readonly string[] =>
  process.getActiveResourcesInfo().filter((name) => pattern.test(name));
const linkSockets = (): number => 2 * paths.reduce((sum, { linkCount }) => sum + linkCount, 0);
const extraSockets = (): number => resources(/^(TCP|TLS)(Socket)?Wrap$/).length - linkSockets();
await mustBecome('the program has no socket left', () => extraSockets() <= 0);
console.log(`${linkSockets()} sockets of black holes in the proxies, ${Math.max(0, extraSockets())} others`);
await Promise.all(paths.map((path) => path.close()));
const exitCode = await server.stop();
// What keeps a program alive, apart from its own output.
const alive = /Timeout|Immediate|TCP|TLS|Process|Fetch|DNS/;
const isIdle = async (): Promise<boolean> => {
  // A timer of `eventually` is one of them until it has fired.
  await new Promise((resolve) => setImmediate(resolve));
  return resources(alive).length === 0;
};
await mustBecome('nothing keeps this program alive', isIdle);
if (resources(alive).length > 0) leaks.push(`left: ${resources(alive).join(', ')}`);

const counts = [...faults.counts].map(([kind, count]) => `${kind} ${count}`);
console.log(
  `faults: ${counts.join(', ')}; recoveries ${faults.recoveriesMs.map((ms) => Math.round(ms)).join(', ')} ms`,
);
for (const [name] of transports) {
  const own = begun.filter(({ options }) => options.transport === name);
  const gaps = own.flatMap(({ gapsMs }) => gapsMs);
  const [median, high, most] = [0.5, 0.99, 1].map((fraction) => nearestRank(gaps, fraction).toFixed(0));
  const outputs = own.reduce((sum, { count }) => sum + count, 0);
  console.log(
    `${name}: ${own.length} streams, ${outputs} outputs, ${gaps.length} gaps, p50 / p99 / max ${median} / ${high} / ${most} ms`,
  );
}
calls.print();

const without = (word: string): boolean =>
  !begun.some(({ problems }) => problems.some((problem) => problem.startsWith(word)));
const isRightlyEnded = ({ ending, startedAt, endedAt }: ClientStream): boolean =>
  ending === 'done' || ending === 'left' || (ending === 'worker-lost' && faults.wasKilledBetween(startedAt, endedAt));
const checks: readonly (readonly [string, boolean])[] = [
  ['no output was lost', without('lost')],
  ['no output came twice', without('doubled')],
  ['every output is that of the undisturbed run', without('different')],
  ['no stream was refused', without('refused')],
  ['no stream was stuck', without('stuck')],
  ['nothing else was wrong', [...begun, calls, faults].every(({ problems }) => problems.length === 0)],
  ['every stream is done, was left, or lost a worker that was killed', begun.every(isRightlyEnded)],
  ['every transport had streams that were resumed', transports.every(([name]) => wasResumed(name))],
  ['every kind of fault was made', faults.missing.length === 0],
  ['no rejection and no exception was unhandled', unhandled.length === 0],
  ['nothing is left: no connection, stream, socket or timer', leaks.length === 0],
  ['the server ends in order', exitCode === 0],
];
for (const [what, isSo] of checks) console.log(`${isSo ? 'ok    ' : 'FAILED'} ${what}`);
const wrong = begun.filter((stream) => stream.problems.length > 0 || !isRightlyEnded(stream));
for (const stream of wrong.slice(0, 5)) {
  console.log(`\n! ${stream.title}: ${stream.ending}\n  ${stream.problems.slice(0, 3).join('\n  ')}`);
}
if (wrong.length > 0) console.log(`\n${wrong.length} of ${begun.length} streams went wrong`);
for (const problem of [...unhandled, ...leaks, ...faults.problems, ...calls.problems].slice(0, 10)) {
  console.log(`\n! ${problem}`);
}
const failed = checks.filter(([, isSo]) => !isSo).length;
console.log(`${checks.length - failed} passed, ${failed} failed`);
// What was found to be left above must not keep it from ending.
process.exit(failed === 0 ? 0 : 1);

function progress(): string {
  const ended = begun.filter(({ endedAt }) => endedAt > 0).length;
  return `${begun.length} streams begun, ${ended} ended`;
}

function wasResumed(name: string): boolean {
  return begun.some(({ options, gapsMs }) => options.transport === name && gapsMs.length > 0);
}

function describe(reason: unknown): string {
  return reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
}
