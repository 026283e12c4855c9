/** The client against servers that are killed, drained and cut off: programs notice pauses, and nothing else. */
import { createClient, eventTransport, type TransportFactory, webSocketTransport } from '@millrace/client';
import { grpcTransport } from '@millrace/client/grpc';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { streamThroughFaults, undisturbedTotals } from '../contracts/client/disturbed-stream.ts';
import { CutLink } from '../support/cut-link.ts';
import { runningTotal, writeRunningTotal } from '../support/running-total.ts';
import { ServerProcess } from '../support/server-process.ts';

const repository = writeRunningTotal(new ModelRepository());
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start([repository.path]);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

/** The worker that got ready last: small models share one. */
const workerPid = (): number => server.records.findLast(({ message }) => message === 'worker ready')?.pid as number;

const value = (one: number) => ({ shape: [1, 1], data: Float32Array.of(one) });

const transports: readonly (readonly [string, () => TransportFactory])[] = [
  ['gRPC', () => grpcTransport()],
  ['fetch and WebSocket', () => webSocketTransport({ WebSocket })],
  ['fetch and events', () => eventTransport()],
];

describe.each(transports)('%s', (_name, transport) => {
  test('a stream goes on through the death of a worker, a link and a router, and every total is right', async () => {
    const link = await CutLink.to(server.url);
    const client = createClient(link.url, { transport: transport() });
    const disturb = {
      'kill-worker': () => process.kill(workerPid(), 'SIGKILL'),
      cut: () => link.cut(),
      reset: () => link.cut(),
      'kill-router': () => process.kill(server.routerPid, 'SIGKILL'),
    };
    try {
      const { totals, gaps, gapsMs } = await streamThroughFaults(client, (fault) => disturb[fault]());
      expect(totals).toEqual(undisturbedTotals);
      expect(gaps.length).toBeGreaterThanOrEqual(3);
      expect(new Set(gaps)).toEqual(new Set(['unreachable']));
      expect(gapsMs.length).toBe(gaps.length);
    } finally {
      client.close();
      link.close();
    }
    await server.whenReady();
  });
});

test('calls are answered although the router is killed under them', async () => {
  const repeated = await ServerProcess.start([`${repository.path}`]);
  const client = createClient(repeated.url, {
    serviceConfig: {
      methodConfig: [
        {
          name: [{}],
          waitForReady: true,
          timeout: '50s',
          retryPolicy: { maxAttempts: 5, initialBackoff: '0.5s', maxBackoff: '5s', backoffMultiplier: 2 },
        },
      ],
    },
  });
  try {
    const calls = Array.from({ length: 60 }, (_, at) => {
      if (at === 30) process.kill(repeated.routerPid, 'SIGKILL');
      return client.infer(runningTotal, { value: value(at), state: value(1) });
    });
    const totals = (await Promise.all(calls)).map(({ outputs }) => outputs.total?.data[0]);
    expect(totals).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
  } finally {
    client.close();
    await repeated.stop();
  }
});

test('calls go to the next server when the first leaves, and come back when it is there again', async () => {
  const [first, second] = [await CutLink.to(server.url), await CutLink.to(server.url)];
  const used: string[] = [];
  const client = createClient({
    endpoints: [first.url, second.url],
    observe: (event) => {
      if (event.kind === 'attempt-ended' && event.error === undefined) used.push(event.endpoint);
    },
  });
  const call = () => client.infer(runningTotal, { value: value(1), state: value(1) });
  try {
    await call();
    first.isDown = true;
    first.cut();
    for (let count = 0; count < 5; count++) await call();
    expect(new Set(used.slice(1))).toEqual(new Set([`${second.url}/`]));
    first.isDown = false;
    while (used.at(-1) !== `${first.url}/`) await call();
    expect(used[0]).toBe(`${first.url}/`);
  } finally {
    client.close();
    first.close();
    second.close();
  }
});
