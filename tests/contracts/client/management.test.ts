/** `@millrace/client/management` against a real server: the contract that every face of management passes, and what is its own. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createClient } from '@millrace/client';
import { createManagement, type ManagedServer, type ManagedStream, MillraceError } from '@millrace/client/management';
import type { JsonObject } from '@millrace/protocol';
import { managementContract, type RemoteManagement } from '@millrace/router/testing';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeRunningTotal } from '../../support/running-total.ts';
import { runningTotal } from '../../support/running-total-name.ts';
import { ServerProcess } from '../../support/server-process.ts';

const repository = new ModelRepository()
  .write('mill/1/model.onnx', binaryModel('Add'))
  .write('mill/2/model.onnx', binaryModel('Mul'))
  .write('mill/config.pbtxt', 'max_batch_size: 8 version_policy { all { } }')
  .write('spare/1/model.onnx', binaryModel('Add'))
  .write('spare/config.pbtxt', 'max_batch_size: 8');
writeRunningTotal(repository);
const product = new Uint8Array(readFileSync(join(repository.path, 'mill/2/model.onnx')));

let server: ServerProcess;
let management: ManagedServer;
beforeAll(async () => {
  const loaded = ['--load-model', 'mill', '--load-model', runningTotal];
  server = await ServerProcess.start([repository.path, '--model-control-mode', 'explicit', ...loaded]);
  management = createManagement(server.url);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

managementContract('@millrace/client/management', () => ({
  management: contractFace(management),
  override: { config: '{"max_batch_size": 4}', files: new Map([['1/model.onnx', product]]) },
}));

/** The client in the words of the contract, which are those of the server's own interface. */
function contractFace(client: ManagedServer): RemoteManagement {
  const trafficFrom = ({ labels, ...rest }: Awaited<ReturnType<ManagedServer['traffic']>>) => {
    return { ...rest, labels: new Map(Object.entries(labels)) };
  };
  const streamFrom = ({ owned, attached, acceptedInputs, exact: _, exactness, ended, ...rest }: ManagedStream) => ({
    ...rest,
    isOwned: owned,
    isAttached: attached,
    acceptedInput: acceptedInputs,
    exactness,
    ended: ended && {
      kind: 'ended' as const,
      outputs: rest.outputs,
      ...(ended as { outcome: 'done'; message: string }),
    },
  });
  return {
    index: () => client.models() as ReturnType<RemoteManagement['index']>,
    load: (model, { config, files } = {}) =>
      client.load(model, {
        ...(config === undefined ? {} : { config: JSON.parse(config) as JsonObject }),
        ...(files === undefined ? {} : { files: Object.fromEntries(files) }),
      }),
    unload: (model, { isWithDependents = false } = {}) => client.unload(model, { withDependents: isWithDependents }),
    setPinned: (model, version, isPinned) => (isPinned ? client.pin(model, version) : client.unpin(model, version)),
    contexts: async () => {
      const contexts = await client.contexts();
      return contexts.map(({ model, pinned, exact, ...rest }) => {
        return { idleMs: undefined, ...rest, areStreamsExact: exact, name: model, isPinned: pinned };
      });
    },
    instances: async () => {
      const instances = await client.instances();
      return instances.map((one) => ({ pid: undefined, rowMs: undefined, priorityMax: undefined, ...one }));
    },
    queues: async () => {
      const { models, ...totals } = await client.queues();
      return { ...totals, models: models.map((one) => ({ waitMs: undefined, ...one })) };
    },
    closeBreaker: (worker) => client.closeBreaker(worker),
    flushCache: (model) => client.flushCache(model),
    streams: async ({ model, isOpenOnly, limit, after }) => {
      const query = { open: isOpenOnly, limit, after, ...(model === undefined ? {} : { model }) };
      const { streams, next } = await client.streams(query);
      return { streams: streams.map(streamFrom), next };
    },
    stream: async (id) => streamFrom(await client.stream(id)),
    cancelStream: async (id, reason) => streamFrom(await client.cancelStream(id, reason)),
    traffic: async (model) => trafficFrom(await client.traffic(model)),
    changeTraffic: async (model, { labels, split, shadows }, expected) => {
      const change = {
        ...(labels && { labels: Object.fromEntries([...labels].map(([label, version]) => [label, version ?? null])) }),
        ...(split && { split }),
        ...(shadows && { shadows }),
      };
      return trafficFrom(
        await client.changeTraffic(model, change, expected === undefined ? {} : { ifRevision: expected }),
      );
    },
  };
}

describe('what programs do with it', () => {
  const left = { shape: [1, 2], data: Float32Array.of(3, 5) };
  const right = { shape: [1, 2], data: Float32Array.of(4, 6) };
  const answerOf = async (model: string) => {
    const client = createClient(server.url);
    try {
      const { outputs } = await client.infer(model, { left, right });
      return Object.values(outputs).flatMap(({ data }) => [...(data as Float32Array)]);
    } finally {
      client.close();
    }
  };

  test('a label moves requests from one version to another', async () => {
    await management.setLabel('mill', 'stable', '1');
    expect(await answerOf('mill@stable')).toEqual([7, 11]);
    const { revision } = await management.setLabel('mill', 'stable', '2');
    expect(await answerOf('mill@stable')).toEqual([12, 30]);
    const late = management.removeLabel('mill', 'stable', { ifRevision: revision - 1 });
    await expect(late).rejects.toMatchObject({ code: 'conflict', endpoint: server.url });
    expect((await management.removeLabel('mill', 'stable', { ifRevision: revision })).labels).toEqual({});
  });

  test('a split and a shadow are set and ended', async () => {
    await management.setShadows('mill', [{ version: '2', percent: 100 }]);
    const set = await management.setSplit('mill', [{ version: '1', weight: 1 }]);
    expect(set).toMatchObject({ split: [{ version: '1', weight: 1 }], shadows: [{ version: '2', percent: 100 }] });
    expect(await answerOf('mill')).toEqual([7, 11]);
    await management.setSplit('mill', []);
    expect(await management.setShadows('mill', [])).toMatchObject({ split: [], shadows: [] });
    expect(await answerOf('mill')).toEqual([12, 30]);
  });

  test('files of a load are served, whether bytes or a Blob', async () => {
    const config = { max_batch_size: 4 };
    await management.load('spare', { config, files: { '1/model.onnx': new Blob([product]) } });
    expect(await answerOf('spare')).toEqual([12, 30]);
    await management.load('spare', { config, files: { '1/model.onnx': binaryModel('Add') } });
    expect(await answerOf('spare')).toEqual([7, 11]);
    await management.unload('spare', { withDependents: true });
  });

  test('a stream is found page by page and cancelled, and its client is told why', async () => {
    const client = createClient(server.url);
    const streams = ['one', 'two'].map((name) => client.stream(runningTotal, { streamId: `management-test-${name}` }));
    for (const stream of streams) await stream.opened();
    const first = await management.streams({ model: runningTotal, open: true, limit: 1 });
    expect(first.streams.map(({ id, attached }) => [id, attached])).toEqual([['management-test-one', true]]);
    const second = await management.streams({ model: runningTotal, open: true, limit: 1, after: first.next ?? '' });
    expect(second.streams.map(({ id }) => id)).toEqual(['management-test-two']);
    const cancelled = await management.cancelStream('management-test-one', 'maintenance tonight');
    expect(cancelled.ended).toMatchObject({ outcome: 'cancelled', code: 'cancelled' });
    const told = await (streams[0] as (typeof streams)[0])
      [Symbol.asyncIterator]()
      .next()
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(told).toMatchObject({ code: 'cancelled', message: expect.stringContaining('maintenance tonight') });
    streams[1]?.cancel();
    client.close();
  });

  test('credentials are asked for at each call', async () => {
    let asked = 0;
    const seen: (string | null)[] = [];
    const client = createManagement(server.url, {
      headers: async () => [['authorization', `Bearer ${++asked}`]],
      fetch: (url, init) => {
        seen.push(new Headers(init?.headers).get('authorization'));
        return fetch(url, init);
      },
    });
    await client.queues();
    await client.queues();
    expect(seen).toEqual(['Bearer 1', 'Bearer 2']);
  });

  test('a deadline and a signal end a call; a server that is not there is unreachable', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const client = createManagement(url);
    await expect(client.load('mill', { deadlineMs: 20 })).rejects.toMatchObject({
      code: 'deadline-exceeded',
      message: 'POST /models/mill/load was not answered within 20 ms',
    });
    const controller = new AbortController();
    const waiting = client.queues({ signal: controller.signal });
    await once(silent, 'request');
    controller.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    await expect(client.queues({ signal: AbortSignal.abort(new Error('never began')) })).rejects.toThrow('never began');
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
    const failure = await client.queues().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MillraceError);
    expect(failure).toMatchObject({ code: 'unreachable', wasSent: false });
    expect(() => createManagement('localhost:8000')).toThrow('is not a URL such as http://localhost:8000');
  });
});
