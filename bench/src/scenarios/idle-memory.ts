/** Memory of an idle connection and an idle stream, and whether it stays the same as their number grows. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { benchServer, type RunningContestant, startContestants, stopContestants } from '../contestant.ts';
import { firstMatch, startPinned, stopped } from '../pinned-process.ts';
import { programPath } from '../run-program.ts';
import type { Goal, Sample, Scenario } from '../scenario.ts';

const fewer = 1000;
const more = 4000;
const streamsOfConnection = 100;
/** The heap has settled when it changed by less than this between two samples so far apart. */
const settledBytesMax = 32_768;
const settleMs = 200;
const settleSamplesMax = 50;
const contestants = [
  benchServer('grpc-js', 'grpc-js', [], ['--expose-gc']),
  benchServer('millrace', 'millrace-rpc', [], ['--expose-gc']),
];

interface Memory {
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
}

async function memoryOf({ child }: RunningContestant): Promise<Memory> {
  const line = firstMatch(child, /memory (\{.*\})\n/);
  child.kill('SIGUSR2');
  return JSON.parse((await line)[1] as string) as Memory;
}

/** After connections were opened or closed, the server's memory takes a while to settle. */
async function settledMemoryOf(server: RunningContestant): Promise<Memory> {
  let before = await memoryOf(server);
  for (let sample = 0; sample < settleSamplesMax; sample++) {
    await setTimeout(settleMs);
    const now = await memoryOf(server);
    if (Math.abs(now.heapUsed - before.heapUsed) < settledBytesMax) return now;
    before = now;
  }
  throw new Error(`the heap of ${server.name} does not settle`);
}

async function openPeers(port: number, connections: number, streams: number): Promise<ChildProcess> {
  const child = startPinned(1, process.execPath, [
    programPath('load/idle-peers'),
    ...['--port', String(port), '--connections', String(connections), '--streams', String(streams)],
  ]);
  await firstMatch(child, /open\n/);
  return child;
}

/** Figures of one kind of thing, a connection or a stream, of which each peer connection has `each`. */
async function measureKind(server: RunningContestant, kind: string, each: number, streams: number): Promise<Sample> {
  // One-time costs, code included, are not part of the cost of one more.
  await stopped(await openPeers(server.port, fewer / each, streams));
  const before = await settledMemoryOf(server);
  const first = await openPeers(server.port, fewer / each, streams);
  const atFewer = await settledMemoryOf(server);
  const second = await openPeers(server.port, (more - fewer) / each, streams);
  const atMore = await settledMemoryOf(server);
  await Promise.all([stopped(first), stopped(second)]);
  const name = `${server.name}, idle ${kind}`;
  const per = (one: number, other: number, count: number): number => (one - other) / count / 1024;
  return {
    [`${name}, heap`]: per(atMore.heapUsed, before.heapUsed, more),
    [`${name}, heap of the first ${fewer}`]: per(atFewer.heapUsed, before.heapUsed, fewer),
    [`${name}, heap of the next ${more - fewer}`]: per(atMore.heapUsed, atFewer.heapUsed, more - fewer),
    [`${name}, buffers outside the heap`]: per(atMore.external, before.external, more),
    [`${name}, resident`]: per(atMore.rss, before.rss, more),
  };
}

function heapGoal(kind: string, boundKib: number): Goal {
  return {
    statement: `heap of an idle ${kind} below ${boundKib} KiB`,
    bound: boundKib,
    isMinimum: false,
    value: (medians) => medians[`millrace, idle ${kind}, heap`] as number,
  };
}

export const idleMemoryScenario: Scenario = {
  name: 'idle-memory',
  title: `Memory of idle connections and of idle streams (${streamsOfConnection} a connection, the connection's own memory included), from 0 to ${fewer} to ${more}`,
  unit: 'KiB each',
  contestants: contestants.map(({ name }) => name),
  goals: [heapGoal('connection', 16), heapGoal('stream', 2)],
  open: () =>
    Promise.resolve({
      measure: async (): Promise<Sample> => {
        let sample: Sample = {};
        for (const contestant of contestants) {
          const servers = await startContestants([contestant]);
          try {
            for (const server of servers) {
              sample = { ...sample, ...(await measureKind(server, 'connection', 1, 0)) };
              sample = {
                ...sample,
                ...(await measureKind(server, 'stream', streamsOfConnection, streamsOfConnection)),
              };
            }
          } finally {
            await stopContestants(servers);
          }
        }
        return sample;
      },
      close: () => Promise.resolve(),
    }),
};
