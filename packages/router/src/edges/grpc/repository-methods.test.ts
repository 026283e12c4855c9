import { createRpcHandler, type HttpServer, serveWire } from '@millrace/http';
import { afterEach, expect, test } from 'vitest';
import { ManagementDouble } from '../management/testing/management-double.ts';
import { catalogueOf, EchoDataPlane, viewOf } from '../rest/testing/echo-double.ts';
import { createGrpcEdge } from './edge.ts';
import { HealthDouble } from './testing/served-edge.ts';

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
});

async function serve() {
  const management = new ManagementDouble();
  const edge = createGrpcEdge({
    catalogue: catalogueOf(viewOf('m')),
    dataPlane: new EchoDataPlane(),
    health: new HealthDouble(),
    server: { name: 'mill', version: '1' },
    management,
  });
  server = await serveWire(createRpcHandler(edge.services, { errorFrom: (error) => edge.errorFrom(error) }));
  const url = `http://127.0.0.1:${server.port}/inference.GRPCInferenceService`;
  const call = async (method: string, body: object = {}) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/${method}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  };
  return { management, call };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

test('the index has what Triton’s has, and only ready models where that is asked', async () => {
  const { call } = await serve();
  const mill = [
    { name: 'mill', version: '1', state: 'READY' },
    { name: 'mill', version: '2', state: 'READY' },
  ];
  expect(await call('RepositoryIndex')).toEqual({ models: [...mill, { name: 'spare' }] });
  expect(await call('RepositoryIndex', { ready: true })).toEqual({ models: mill });
});

test('a load brings a configuration as text and files as bytes', async () => {
  const { call, management } = await serve();
  const parameters = { config: { stringParam: '{}' }, 'file:1/model.onnx': { bytesParam: base64('onnx') } };
  expect(await call('RepositoryModelLoad', { modelName: 'spare', parameters })).toEqual({});
  expect(management.overrides?.config).toBe('{}');
  expect(Buffer.from(management.overrides?.files?.get('1/model.onnx') ?? []).toString()).toBe('onnx');
  const unload = { modelName: 'spare', parameters: { unload_dependents: { boolParam: true } } };
  expect(await call('RepositoryModelUnload', unload)).toEqual({});
  expect(management.isWithDependents).toBe(true);
});

test('Triton: unloading an unknown model is OK and changes nothing', async () => {
  const { call } = await serve();
  const before = await call('RepositoryIndex');
  expect(await call('RepositoryModelUnload', { modelName: 'nobody' })).toEqual({});
  expect(await call('RepositoryIndex')).toEqual(before);
});

const load = 'RepositoryModelLoad';
const unload = 'RepositoryModelUnload';
test.each([
  [load, { config: { bytesParam: '' } }, "invalid value type for load parameter 'config', expected string_param."],
  [
    load,
    { 'file:1/m': { stringParam: '' } },
    "invalid value type for load parameter 'file:1/m', expected bytes_param.",
  ],
  [load, { other: { boolParam: true } }, "unrecognized load parameter 'other'. There are config and file:PATH"],
  [
    unload,
    { unload_dependents: { int64Param: '1' } },
    "invalid value type for unload parameter 'unload_dependents', expected bool_param.",
  ],
  [unload, { force: { boolParam: true } }, "unrecognized unload parameter 'force'. There is unload_dependents"],
])('%s with %j is refused', async (method, parameters, message) => {
  const { call } = await serve();
  expect(await call(method, { modelName: 'spare', parameters })).toMatchObject({ code: 'invalid_argument', message });
});

test.each(['RepositoryIndex', load, unload])('%s of a named repository is refused', async (method) => {
  const { call } = await serve();
  expect(
    await call(method, { repositoryName: 'one', ...(method === 'RepositoryIndex' ? {} : { modelName: 'mill' }) }),
  ).toMatchObject({
    code: 'unimplemented',
    message: "'repository_name' specification is not supported",
  });
});

test('the extensions are advertised', async () => {
  const { call } = await serve();
  expect((await call('ServerMetadata')).extensions).toEqual(
    expect.arrayContaining(['model_repository', 'model_repository(unload_dependents)']),
  );
});
