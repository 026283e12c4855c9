import { createRpcHandler, type HttpServer, serveWire, wireHandlerFrom } from '@millrace/http';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Management } from '../../management/management.ts';
import { createManagementPort } from './own-port.ts';
import { grpcManagement } from './testing/grpc-management.ts';
import { managementContract } from './testing/management-contract.ts';
import { ManagementDouble } from './testing/management-double.ts';
import { directly, type RemoteManagement } from './testing/remote-management.ts';
import { restManagement } from './testing/rest-management.ts';

const override = {
  config: '{"max_batch_size":9007199254740993}',
  files: new Map([['1/model.onnx', new Uint8Array([0, 255])]]),
};
const faces: Readonly<Record<string, (url: string) => RemoteManagement>> = {
  REST: restManagement,
  gRPC: grpcManagement,
};

let double = new ManagementDouble();
const errors: unknown[] = [];
let server: HttpServer | undefined;

/** One server for all tests; the management behind it is new for each. */
async function url(): Promise<string> {
  if (server === undefined) {
    const current: Management = new Proxy({} as Management, {
      get: (_, name) => {
        const member: unknown = Reflect.get(double, name);
        return typeof member === 'function' ? member.bind(double) : member;
      },
    });
    const onError = (error: unknown): void => void errors.push(error);
    const port = createManagementPort({ management: current, server: { name: 'mill', version: '1' }, onError });
    const next = wireHandlerFrom(port.rest, onError);
    server = await serveWire(createRpcHandler(port.services, { errorFrom: (error) => port.errorFrom(error), next }));
  }
  return `http://127.0.0.1:${server.port}`;
}

beforeEach(() => {
  double = new ManagementDouble();
  errors.length = 0;
});
afterAll(async () => {
  await server?.close();
});

managementContract('the double', () => ({ management: directly(double), override }));
for (const [name, face] of Object.entries(faces)) {
  managementContract(name, async () => ({ management: face(await url()), override }));
}

describe.each(Object.entries(faces))('%s passes everything on', (_, face) => {
  test('results of the implementation arrive complete', async () => {
    const remote = face(await url());
    await remote.changeTraffic('mill', { labels: new Map([['stable', '1']]) });
    expect(await remote.contexts()).toEqual(double.contexts());
    expect(await remote.instances()).toEqual(double.instances());
    expect(await remote.queues()).toEqual(double.queues());
    expect(await remote.index()).toEqual(await double.index());
    expect(await remote.traffic('mill')).toEqual(double.traffic('mill'));
    expect(await remote.flushCache()).toBe(3);
    const all = { model: undefined, isOpenOnly: false, limit: 10, after: '' };
    expect(await remote.streams(all)).toEqual(await double.streams(all));
    expect(await remote.stream('stream-2')).toEqual(await double.stream('stream-2'));
    expect(await remote.cancelStream('stream-1', 'too long')).toMatchObject({
      ended: { outcome: 'cancelled', code: 'cancelled', message: 'too long' },
    });
  });

  test('arguments of load and unload arrive complete', async () => {
    const remote = face(await url());
    await remote.load('spare', { config: '{"max_batch_size":4}', files: override.files });
    expect(double.overrides?.config).toBe('{"max_batch_size":4}');
    expect([...(double.overrides?.files?.get('1/model.onnx') ?? [])]).toEqual([0, 255]);
    await remote.load('spare');
    expect(double.overrides).toBeUndefined();
    await remote.unload('spare', { isWithDependents: true });
    expect(double.isWithDependents).toBe(true);
  });

  test('queries of streams arrive complete, and pages follow each other', async () => {
    const remote = face(await url());
    const query = { model: 'mill', isOpenOnly: true, limit: 7, after: 'stream-0' };
    await remote.streams(query);
    expect(double.streamQuery).toEqual(query);
    const first = await remote.streams({ model: undefined, isOpenOnly: false, limit: 1, after: '' });
    expect([first.streams.map(({ id }) => id), first.next]).toEqual([['stream-1'], 'stream-1']);
    const second = await remote.streams({ model: undefined, isOpenOnly: false, limit: 0, after: 'stream-1' });
    expect([second.streams.map(({ id }) => id), second.next, double.streamQuery?.limit]).toEqual([
      ['stream-2'],
      undefined,
      100,
    ]);
  });

  test('refusals have the same message on every interface', async () => {
    const remote = face(await url());
    const many = new Map(Array.from({ length: 65 }, (__, index) => [`label-${index}`, '1']));
    const file = new Uint8Array(1);
    const cases: [() => Promise<unknown>, string][] = [
      [() => remote.changeTraffic('mill', {}), 'the change is empty; give labels, a split or shadows'],
      [() => remote.changeTraffic('mill', { labels: new Map([['', '1']]) }), 'the label is missing'],
      [
        () => remote.changeTraffic('mill', { labels: new Map([['stable', '']]) }),
        "the version of label 'stable' is missing",
      ],
      [() => remote.changeTraffic('mill', { split: [{ version: '', weight: 1 }] }), 'the version is missing'],
      [() => remote.changeTraffic('mill', { labels: many }), 'one change has at most 64 labels, this one has 65'],
      [
        () => remote.load('spare', { files: new Map([['1/model.onnx', file]]) }),
        'a load that brings files must bring the configuration too: add the parameter config',
      ],
      [
        () => remote.load('spare', { config: '{}', files: new Map([['../1/model.onnx', file]]) }),
        "file '../1/model.onnx' must be a path below the model’s folder, like 1/model.onnx",
      ],
      [
        () => remote.streams({ model: undefined, isOpenOnly: false, limit: 1001, after: '' }),
        'a page has at most 1000 streams, not 1001; ask for several pages',
      ],
      [() => remote.closeBreaker(99), 'there is no worker 99; list the instances to see the workers'],
    ];
    for (const [call, message] of cases) {
      await expect(call()).rejects.toMatchObject({ code: 'invalid-request', message });
    }
  });

  test('an unexpected error is reported to the server only', async () => {
    double.defect = new TypeError('a secret of the server');
    await expect(face(await url()).index()).rejects.toMatchObject({
      code: 'internal',
      message: 'the server failed on this request; its log says why',
    });
    expect(errors).toEqual([new TypeError('a secret of the server')]);
  });
});
