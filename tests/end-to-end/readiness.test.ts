/** What a server with a model that cannot be loaded says of itself, on each protocol, and how that ends. */
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

/** A graph that can be read, with an operator that ONNX Runtime does not have. */
const unloadable = Buffer.from(Buffer.from(binaryModel('Add')).toString('latin1').replace('Add', 'Odd'), 'latin1');

let models: ModelRepository;
let server: ServerProcess;

beforeEach(async () => {
  models = new ModelRepository().write('good/1/model.onnx', binaryModel('Add')).write('bad/1/model.onnx', unloadable);
  const polling = ['--model-control-mode', 'poll', '--repository-poll-secs', '0.2', '--repository-settle-secs', '0.1'];
  server = await ServerProcess.launch([models.path, ...polling]);
});

afterEach(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

async function post(path: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${server.url}${path}`, { method: 'POST', headers, body: '{}' })).json();
}

/** Ready by REST, by gRPC and by gRPC's health service. */
async function readiness(): Promise<readonly unknown[]> {
  const { status } = await fetch(`${server.url}/v2/health/ready`);
  const { ready = false } = (await post('/inference.GRPCInferenceService/ServerReady')) as { ready?: boolean };
  const { status: health } = (await post('/grpc.health.v1.Health/Check')) as { status?: string };
  return [status === 200, ready, health];
}

interface Entry {
  readonly name: string;
  readonly state?: string;
  readonly reason?: string;
}

async function entryOf(name: string): Promise<Entry | undefined> {
  return ((await post('/v2/repository/index')) as readonly Entry[]).find((entry) => entry.name === name);
}

test('a model that cannot be loaded keeps the server from being ready, is told of once, and serves when its files are mended', async () => {
  expect(await readiness()).toEqual([false, false, 'NOT_SERVING']);
  await eventually('the good model is ready', async () => (await entryOf('good'))?.state === 'READY');
  await eventually('the bad model has failed', async () => (await entryOf('bad'))?.state === 'UNAVAILABLE');
  expect((await entryOf('bad'))?.reason).toMatch(/^never served: .*Odd/);
  expect(await readiness()).toEqual([false, false, 'NOT_SERVING']);
  const errors = server.records.filter(({ level, ...record }) => {
    return (level === 'error' || level === 'warn') && JSON.stringify(record).includes('bad');
  });
  expect(errors).toMatchObject([{ message: 'model failed; it has never served', model: 'bad', version: '1' }]);
  models.write('bad/1/model.onnx', binaryModel('Mul'));
  await eventually('the mended model is ready', async () => (await entryOf('bad'))?.state === 'READY');
  expect(await readiness()).toEqual([true, true, 'SERVING']);
});

test('a model that is added later and cannot be loaded leaves the server ready', async () => {
  models.write('bad/1/model.onnx', binaryModel('Mul'));
  await eventually('the server is ready', async () => (await readiness())[0] === true);
  models.write('late/1/model.onnx', unloadable);
  await eventually('the late model has failed', async () => (await entryOf('late'))?.state === 'UNAVAILABLE');
  expect((await entryOf('late'))?.reason).toMatch(/^never served: /);
  expect(await readiness()).toEqual([true, true, 'SERVING']);
});

test('a version that is on disk and not served says so in the index and to requests, and how to have it served', async () => {
  models.write('bad/1/model.onnx', binaryModel('Mul')).write('bad/2/model.onnx', binaryModel('Add'));
  await eventually('version 2 has replaced version 1', async () => {
    const entries = ((await post('/v2/repository/index')) as readonly Entry[]).filter(({ name }) => name === 'bad');
    return entries.map(({ state }) => state).join() === 'UNAVAILABLE,READY';
  });
  const advice =
    'without a version_policy only the latest is served; write version_policy { all { } } in config.pbtxt to serve all';
  expect((await entryOf('bad'))?.reason).toBe(advice);
  const answer = await fetch(`${server.url}/v2/models/bad/versions/1`);
  expect(answer.status).toBe(404);
  expect(await answer.text()).toContain(advice);
});
