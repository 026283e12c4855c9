/** Memory and processor time of many durable streams that are open and idle, over gRPC and over WebSocket. */
import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { type Contestant, millraceServing, startContestants, stopContestants } from '../contestant.ts';
import { firstMatch, routerBelow, startPinned, stopped } from '../pinned-process.ts';
import { processorSeconds } from '../processor-time.ts';
import { pssBytesOf } from '../pss-bytes.ts';
import { programPath } from '../run-program.ts';
import type { Goal, Sample, Scenario } from '../scenario.ts';
import { streamRepository } from '../stream-repository.ts';

const count = 10_000;
/** Opened and closed before, so that code and other one-time costs are not counted. */
const warmUpCount = 100;
/** As clients do that keep connections alive; each is pinged once while processor time is measured. */
const pingSeconds = 20;
/** The memory has settled when what is no file's changed by less than this for so long: an idle router gives memory back after a minute. */
const settledBytesMax = 2 * 1024 * 1024;
const settledMs = 80_000;
const sampleMs = 1000;
const settleSamplesMax = 300;

interface Transport {
  readonly name: string;
  readonly option: string;
  readonly streamsPerConnection: number;
}

const grpc: Transport = { name: 'gRPC', option: 'grpc', streamsPerConnection: 100 };
const webSocket: Transport = { name: 'WebSocket', option: 'websocket', streamsPerConnection: 1 };
const transports = [grpc, webSocket];

function memoryName({ name }: Transport): string {
  return `${name}, KiB a stream`;
}

function processorName({ name }: Transport): string {
  return `${name}, % of a core for ${count}`;
}

function contestantOn(repository: string): Contestant {
  const { name, command, listening } = millraceServing(repository, 'inline');
  const limits = ['--connections-max', '20000', '--connections-per-address-max', '20000'];
  return { name, command: [...command, ...limits], listening };
}

async function settledBytes(pid: number): Promise<number> {
  let before = pssBytesOf(pid, 'Pss_Anon');
  let unchangedMs = 0;
  for (let sample = 0; sample < settleSamplesMax; sample++) {
    await setTimeout(sampleMs);
    const now = pssBytesOf(pid, 'Pss_Anon');
    unchangedMs = Math.abs(now - before) < settledBytesMax ? unchangedMs + sampleMs : 0;
    if (unchangedMs >= settledMs) return pssBytesOf(pid);
    if (unchangedMs === 0) before = now;
  }
  throw new Error('the memory of the router does not settle');
}

async function openStreams(port: number, transport: Transport, streams: number): Promise<ChildProcess> {
  const child = startPinned(1, process.execPath, [
    programPath('load/idle-streams'),
    ...['--port', String(port), '--transport', transport.option, '--ping-seconds', String(pingSeconds)],
    ...['--connections', String(streams / transport.streamsPerConnection)],
    ...['--streams', String(transport.streamsPerConnection)],
  ]);
  await firstMatch(child, /open\n/);
  return child;
}

async function measureTransport(repository: string, transport: Transport): Promise<Sample> {
  const servers = await startContestants([contestantOn(repository)]);
  try {
    const [server] = servers;
    if (server?.child.pid === undefined) throw new Error('the server was not started');
    const { port } = server;
    const router = routerBelow(server.child.pid);
    await stopped(await openStreams(port, transport, warmUpCount));
    const before = await settledBytes(router);
    const peers = await openStreams(port, transport, count);
    try {
      const bytes = (await settledBytes(router)) - before;
      const secondsBefore = processorSeconds(router) ?? 0;
      await setTimeout(pingSeconds * 1000);
      const seconds = (processorSeconds(router) ?? 0) - secondsBefore;
      return {
        [memoryName(transport)]: bytes / count / 1024,
        [processorName(transport)]: (100 * seconds) / pingSeconds,
      };
    } finally {
      await stopped(peers);
    }
  } finally {
    await stopContestants(servers);
  }
}

const goals: readonly Goal[] = [
  {
    statement: `${count} idle streams over ${count / grpc.streamsPerConnection} gRPC connections: at most 8 KiB each`,
    bound: 8,
    isMinimum: false,
    value: (medians) => medians[memoryName(grpc)] as number,
  },
  {
    statement: `${count} idle streams over ${count / grpc.streamsPerConnection} gRPC connections: at most 1 % of a core, keep-alives included`,
    bound: 1,
    isMinimum: false,
    value: (medians) => medians[processorName(grpc)] as number,
  },
];

export const idleStreamsScenario: Scenario = {
  name: 'idle-streams',
  title: `${count} durable streams that are open and idle, journaled, connections included: memory of the router (PSS) above that of an idle one, and its processor time while every connection is pinged once in ${pingSeconds} s`,
  unit: 'KiB a stream, or % of a core',
  contestants: transports.flatMap((transport) => [memoryName(transport), processorName(transport)]),
  goals,
  open: () => {
    const repository = streamRepository();
    return Promise.resolve({
      measure: async (): Promise<Sample> => {
        let sample: Sample = {};
        for (const transport of transports) sample = { ...sample, ...(await measureTransport(repository, transport)) };
        return sample;
      },
      close: () => {
        rmSync(repository, { recursive: true });
        return Promise.resolve();
      },
    });
  },
};
