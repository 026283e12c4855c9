import { gzipSync } from 'node:zlib';
import { type InjectedRequest, inject } from '@millrace/http';
import { beforeEach, describe, expect, test } from 'vitest';
import { encodeError } from '../../routing/encode-error.ts';
import { openApiDocument } from '../../routing/openapi.ts';
import { createRouter } from '../../routing/router.ts';
import { createManagementEdge } from '../edge.ts';
import { ManagementDouble } from '../testing/management-double.ts';

let double = new ManagementDouble();
beforeEach(() => {
  double = new ManagementDouble();
});

const limits = { changeBytesMax: 1000, loadBytesMax: 5000 };
const routesOf = () => createManagementEdge({ management: double, limits }).routes;

async function call(method: string, path: string, body?: unknown, more: Partial<InjectedRequest> = {}) {
  const handler = createRouter(routesOf(), (error) => encodeError(error, { retryAfterSeconds: 1, onError: () => {} }));
  const reply = await inject(handler, {
    method,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...more,
    target: `/v1/management${path}`,
  });
  const text = reply.text();
  return {
    status: reply.status,
    etag: reply.headers.get('etag'),
    body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>),
  };
}

describe('revisions', () => {
  test('the etag of traffic is what If-Match takes', async () => {
    expect(await call('GET', '/models/mill/traffic')).toMatchObject({ status: 200, etag: '"0"' });
    const ifMatch = (etag: string): Partial<InjectedRequest> => ({ headers: [['if-match', etag]] });
    const first = await call('PUT', '/models/mill/labels/stable', { version: '1' }, ifMatch('"0"'));
    expect(first).toMatchObject({ status: 200, etag: '"1"', body: { labels: { stable: '1' }, revision: 1 } });
    const late = await call('PUT', '/models/mill/labels/stable', { version: '2' }, ifMatch('"0"'));
    expect(late).toMatchObject({ status: 409 });
    expect((await call('DELETE', '/models/mill/labels/stable', undefined, ifMatch('*'))).body).toMatchObject({
      labels: {},
      revision: 2,
    });
  });

  test.each(['3', 'W/"3"', '"3", "4"', '""', '"99999999999999999999"'])('if-match: %s is refused', async (etag) => {
    const reply = await call('PUT', '/models/mill/split', { split: [] }, { headers: [['if-match', etag]] });
    expect(reply).toMatchObject({ status: 400, body: { error: expect.stringContaining('if-match') } });
  });
});

test('split and shadows have paths of their own', async () => {
  const split = [{ version: '1', weight: 3 }];
  expect((await call('PUT', '/models/mill/split', { split })).body).toMatchObject({ split });
  const shadows = [{ version: '2', percent: 5 }];
  expect((await call('PUT', '/models/mill/shadows', { shadows })).body).toMatchObject({ split, shadows });
});

describe('bodies', () => {
  test.each([
    ['PATCH', '/models/mill/traffic', { label: {} }, '"label" is not a field of the body'],
    [
      'PATCH',
      '/models/mill/traffic',
      { split: [{ version: '1', wieght: 2, weight: 1 }] },
      '"wieght" is not a field of split.0',
    ],
    ['PATCH', '/models/mill/traffic', { labels: { stable: 1 } }, 'labels.stable must be of type string, not number'],
    ['PUT', '/models/mill/labels/stable', {}, 'version is missing; it must be of type string'],
    ['POST', '/models/spare/load', { config: '{}' }, 'config must be of type record, not string'],
    ['POST', '/models/spare/load', { config: {}, files: { '1/model.onnx': '!' } }, "'1/model.onnx' is not base64"],
    ['POST', '/models/spare/unload', { force: true }, '"force" is not a field of the body'],
    ['POST', '/models/spare/unload', '[]', 'the body must be a JSON object'],
    ['POST', '/models/spare/unload', '{"withDependents": true', 'JSON at line 1'],
    ['POST', '/instances/first/breaker/close', undefined, "'first' is not the number of a worker"],
  ])('%s %s %j is refused', async (method, path, body, message) => {
    const reply = await call(method, path, body);
    expect(reply).toMatchObject({ status: 400, body: { error: expect.stringContaining(message) } });
  });

  test('no body at all is a body without fields', async () => {
    expect(await call('POST', '/models/spare/load')).toMatchObject({ status: 204, body: undefined });
    expect(await call('POST', '/models/spare/unload')).toMatchObject({ status: 204 });
  });

  test('a configuration keeps numbers that no double holds', async () => {
    await call('POST', '/models/spare/load', '{"config":{"delay":9007199254740993}}');
    expect(double.overrides).toEqual({ config: '{"delay":9007199254740993}' });
  });

  test('a change over its limit is refused; a load has a limit of its own', async () => {
    const long = JSON.stringify({ labels: { ['x'.repeat(1000)]: '1' } });
    expect(await call('PATCH', '/models/mill/traffic', long)).toMatchObject({ status: 413 });
    const config = { text: 'x'.repeat(3000) };
    expect(await call('POST', '/models/spare/load', { config })).toMatchObject({ status: 204 });
    expect(await call('POST', '/models/spare/load', { config: { text: 'x'.repeat(5000) } })).toMatchObject({
      status: 413,
    });
  });

  test('a compressed body is read within the same limit', async () => {
    const packed = (value: unknown): Partial<InjectedRequest> => ({
      headers: [['content-encoding', 'gzip']],
      body: gzipSync(JSON.stringify(value)),
    });
    expect(await call('PUT', '/models/mill/labels/a', undefined, packed({ version: '1' }))).toMatchObject({
      status: 200,
    });
    const bomb = packed({ version: '1'.repeat(100_000) });
    expect(await call('PUT', '/models/mill/labels/a', undefined, bomb)).toMatchObject({ status: 413 });
  });
});

test('names are percent-decoded, and a name with a slash stays one name', async () => {
  const reply = await call('GET', '/models/a%2Fb%20c/traffic');
  expect(reply).toMatchObject({ status: 404, body: { error: "there is no model 'a/b c'" } });
});

test('the OpenAPI document has every operation, its bodies and its answers', () => {
  const { paths, components } = openApiDocument({ title: 'Test', version: '1' }, routesOf());
  expect(Object.keys(paths)).toHaveLength(new Set(routesOf().map(({ path }) => path)).size);
  expect(paths['/v1/management/models/{model}/traffic']).toMatchObject({
    patch: {
      operationId: 'changeTraffic',
      parameters: [{ name: 'model' }, { name: 'if-match', in: 'header' }],
      requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/TrafficChange' } } } },
      responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Traffic' } } } } },
    },
  });
  expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(['Contexts', 'Instances', 'Queues', 'Load']));
});
