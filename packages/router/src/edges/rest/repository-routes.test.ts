import { expect, test } from 'vitest';
import { ManagementDouble } from '../management/testing/management-double.ts';
import { echoEdge } from './testing/echo-double.ts';

function edge(limits = {}) {
  const management = new ManagementDouble();
  const { call } = echoEdge({ management, limits });
  const post = async (path: string, body?: unknown) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await call({
      method: 'POST',
      target: `/v2/repository${path}`,
      ...(body === undefined ? {} : { body: text }),
    });
    return { status: reply.status, text: reply.text() };
  };
  return { management, call, post };
}

test('an entry of the index has only what is known', async () => {
  const { post } = edge();
  const { status, text } = await post('/index');
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual([
    { name: 'mill', version: '1', state: 'READY' },
    { name: 'mill', version: '2', state: 'READY' },
    { name: 'spare' },
  ]);
  expect(JSON.parse((await post('/index', { ready: true })).text)).toHaveLength(2);
  expect(JSON.parse((await post('/index', { ready: false })).text)).toHaveLength(3);
});

test('a load and an unload answer with nothing', async () => {
  const { post, management } = edge();
  expect(await post('/models/spare/load')).toEqual({ status: 200, text: '' });
  expect(management.overrides).toBeUndefined();
  const files = { 'file:1/model.onnx': Buffer.from('onnx').toString('base64') };
  expect((await post('/models/spare/load', { parameters: { config: '{"a":1}', ...files } })).status).toBe(200);
  expect(management.overrides?.config).toBe('{"a":1}');
  expect(Buffer.from(management.overrides?.files?.get('1/model.onnx') ?? []).toString()).toBe('onnx');
  expect(await post('/models/spare/unload', { parameters: { unload_dependents: true } })).toEqual({
    status: 200,
    text: '',
  });
  expect(management.isWithDependents).toBe(true);
});

test('Triton: unloading an unknown model succeeds and changes nothing', async () => {
  const { post } = edge();
  const before = await post('/index');
  expect(await post('/models/nobody/unload')).toEqual({ status: 200, text: '' });
  expect(await post('/index')).toEqual(before);
});

test.each([
  ['/index', { ready: 'yes' }, "'ready' must be true or false"],
  ['/index', '[]', 'the body must be a JSON object'],
  ['/models/spare/load', { parameters: [] }, "'parameters' must be an object"],
  ['/models/spare/load', { parameters: { config: {} } }, "load parameter 'config' must be a string"],
  ['/models/spare/load', { parameters: { other: 'x' } }, "unrecognized load parameter 'other'"],
  ['/models/spare/load', { parameters: { 'file:1/m': 'AA' } }, "the content of 'file:1/m' is not base64"],
  ['/models/spare/load', { parameters: { 'file:1/m': 'AAAA' } }, 'add the parameter config'],
  ['/models/spare/unload', { parameters: { unload_dependents: 1 } }, "'unload_dependents' must be true or false"],
])('%s with %j is a 400', async (path, body, message) => {
  const { status, text } = await edge().post(path, body);
  expect([status, text]).toEqual([400, expect.stringContaining(message)]);
});

test.each(['/one/index', '/one/models/mill/load', '/one/models/mill/unload'])(
  '%s names a repository: 501',
  async (path) => {
    expect(await edge().post(path)).toEqual({
      status: 501,
      text: `{"error":"'repository_name' specification is not supported"}`,
    });
  },
);

test('files are bounded by the limit of bodies', async () => {
  const { post } = edge({ bodyBytesMax: 200, jsonBytesMax: 200 });
  const files = { 'file:1/model.onnx': 'A'.repeat(400) };
  expect((await post('/models/spare/load', { parameters: { config: '{}', ...files } })).status).toBe(413);
});

test('without management there are no such paths, and nothing is advertised', async () => {
  const { call } = echoEdge();
  expect((await call({ method: 'POST', target: '/v2/repository/index' })).status).toBe(404);
  const extensionsOf = async (one: typeof call) =>
    (JSON.parse((await one({ target: '/v2' })).text()) as { extensions: string[] }).extensions;
  expect(await extensionsOf(call)).not.toContain('model_repository');
  expect(await extensionsOf(edge().call)).toEqual(
    expect.arrayContaining(['model_repository', 'model_repository(unload_dependents)']),
  );
});
