/** Holds "The ways" of ARCHITECTURE.md to what runs: every file in which a function is called is named there, and no other. */
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ImportGraph } from '../tidy/import-graph.ts';
import { readWays } from '../tidy/written-ways.ts';
import {
  callSeveral,
  holdRequests,
  model,
  openStreamClient,
  RestClient,
  replacedModel,
  replaceModel,
  type StreamClient,
  streamSeveral,
} from './events.ts';
import { ProbedServer } from './probed-server.ts';
import { type CalledFiles, isBeside, wayDifference } from './way-difference.ts';

// Counting calls keeps code from being optimised, and a reload starts three processes.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const written = readWays();
const graph = new ImportGraph();

const expectWritten = (title: string, called: CalledFiles): void => {
  expect(wayDifference(written, title, called, graph)).toBe('');
};

describe('of a server whose models stay as they are', () => {
  const models = new ModelRepository().write(`${model}/1/model.onnx`, binaryModel('Add'));
  let probed: ProbedServer;
  let rest: RestClient;
  let grpc: StreamClient;

  // The first request of each kind sets things up: connections, and what is kept from one request to the next.
  beforeAll(async () => {
    probed = await ProbedServer.start([models.path]);
    rest = new RestClient(probed.server);
    grpc = openStreamClient(probed.server);
    await rest.inferSeveral();
    await callSeveral(grpc);
    await streamSeveral(grpc);
  });
  afterAll(async () => {
    rest.close();
    grpc.close();
    expect(await probed.stop()).toBe(0);
    models.remove();
  });

  test('a REST request in JSON', async () => {
    expectWritten('A REST request in JSON', await probed.filesOf(() => rest.inferSeveral()));
  });

  test('a unary gRPC request', async () => {
    expectWritten('A unary gRPC request', await probed.filesOf(() => callSeveral(grpc)));
  });

  test('a gRPC stream', async () => {
    expectWritten('A gRPC stream', await probed.filesOf(() => streamSeveral(grpc)));
  });

  test('the death of a worker', async () => {
    const { pid, killWorker } = await holdRequests(probed.server, rest);
    expectWritten('The death of a worker', await probed.filesOf(killWorker, pid));
  });
});

describe('of a server that follows its models', () => {
  const models = new ModelRepository().write(`${replacedModel}/1/model.onnx`, binaryModel('Add'));
  let probed: ProbedServer;

  beforeAll(async () => {
    probed = await ProbedServer.start([
      models.path,
      ...['--model-control-mode', 'poll', '--repository-poll-secs', '0.2', '--repository-settle-secs', '0.1'],
    ]);
  });
  afterAll(async () => {
    expect(await probed.stop()).toBe(0);
    models.remove();
  });

  test('a hot reload', async () => {
    expectWritten('A hot reload', await probed.filesOf(() => replaceModel(probed.server, models)));
  });
});

test('a file that is missing, too many or misplaced is told with the line to write', () => {
  const [known, unknown, next] = [
    'packages/core/src/events.ts',
    'packages/core/src/event-text.ts',
    'packages/core/src/assert.ts',
  ] as const;
  const way = {
    title: 'w',
    steps: [{ number: 1, file: known, caller: undefined, by: undefined, isSeam: false }],
    stretches: [],
  };
  const planted = { ways: [way], beside: [next, 'packages/onnx/'], atAnyTime: [] };
  expect(
    wayDifference(
      planted,
      'w',
      new Map([
        [known, new Set(['f'])],
        [next, new Set(['g'])],
      ]),
      graph,
    ),
  ).toBe('');
  expect(
    wayDifference(
      planted,
      'w',
      new Map([
        [known, new Set(['f'])],
        [unknown, new Set(['g'])],
      ]),
      graph,
    ),
  ).toContain(`N. \`${unknown}\` (?): g.`);
  expect(wayDifference(planted, 'w', new Map(), graph)).toContain(`1. \`${known}\``);
  expect(wayDifference(planted, 'other', new Map(), graph)).toContain('no way "other"');
  expect(isBeside(planted, 'packages/onnx/src/index.ts')).toBe(true);
});
