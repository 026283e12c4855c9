import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type HttpRequest, inject } from '@millrace/http';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { openApiDocument, openApiRoute } from './openapi.ts';
import type { Route } from './route.ts';
import { createRouter, knownPathsMax } from './router.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function route(method: Route['method'], path: string, more: Partial<Route> = {}): Route {
  return {
    method,
    path,
    operationId: `${method} ${path}`,
    summary: 'Says what matched',
    responses: { 200: { description: 'What matched' } },
    handler: ({ parameters, query }) => ({
      status: 200,
      headers: [],
      body: bytes(JSON.stringify({ path, parameters: Object.fromEntries(parameters), query })),
    }),
    ...more,
  };
}

const digits = z.string().regex(/^[0-9]+$/);
const routes: readonly Route[] = [
  route('GET', '/v2'),
  route('GET', '/v2/models/stats'),
  route('GET', '/v2/models/{model}'),
  route('GET', '/v2/models/{model}/ready'),
  route('POST', '/v2/models/{model}/infer'),
  route('GET', '/v2/models/{model}/versions/{version}', { parameters: { version: digits } }),
  route('GET', '/search', { query: z.object({ limit: z.coerce.number().int().max(9), word: z.string().optional() }) }),
  route('POST', '/search'),
];

const handler = createRouter(routes, (error) => ({
  status: error.kind.http,
  headers: [['x-code', error.code]],
  body: bytes(error.message),
}));

async function call(method: string, target: string) {
  const reply = await inject(handler, { method, target });
  return { status: reply.status, allow: reply.headers.get('allow'), text: reply.text() };
}

describe('matching', () => {
  test.each([
    ['/v2', '/v2', {}],
    ['/v2/', '/v2', {}],
    ['/v2/models/stats', '/v2/models/stats', {}],
    ['/v2/models/stats/ready', '/v2/models/{model}/ready', { model: 'stats' }],
    ['/v2/models/a%2Fb%20%C3%A9', '/v2/models/{model}', { model: 'a/b é' }],
    ['/v2/models/%7Bmodel%7D/', '/v2/models/{model}', { model: '{model}' }],
    ['/v2/models/m/versions/12', '/v2/models/{model}/versions/{version}', { model: 'm', version: '12' }],
  ])('%s is %s', async (target, path, parameters) => {
    const reply = await call('GET', target);
    expect(JSON.parse(reply.text)).toEqual({ path, parameters, query: {} });
  });

  test.each(['/', '/v3', '/v2//', '/v2/models', '/v2/models//ready', '/v2/models/m/versions/x', '/V2', '*', '//v2'])(
    '%s leads nowhere',
    async (target) =>
      expect(await call('GET', target)).toMatchObject({
        status: 404,
        text: `Not Found: ${target} is not a path of this server`,
      }),
  );

  test('a long path is shortened in the error', async () => {
    const { text } = await call('GET', `/${'x'.repeat(5000)}`);
    expect(text).toMatch(/^Not Found: \/x+… \(\d+ characters\) is not a path of this server$/);
    expect(text.length).toBeLessThan(300);
  });

  test('a known path with another method is a 405 that names the methods', async () => {
    expect((await call('PUT', '/search')).text).toBe('Method Not Allowed: /search takes GET, HEAD, POST, not PUT');
    expect(await call('DELETE', '/v2')).toMatchObject({ status: 405, allow: 'GET, HEAD' });
    expect(await call('GET', '/v2/models/m/infer')).toMatchObject({ status: 405, allow: 'POST' });
    expect(await call('PUT', '/search')).toMatchObject({ status: 405, allow: 'GET, HEAD, POST' });
  });

  test('a repeated path leads to the same route, whatever came in between', async () => {
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at <= knownPathsMax; at++) {
        const { text } = await call('GET', `/v2/models/m${at}`);
        expect(JSON.parse(text).parameters).toEqual({ model: `m${at}` });
      }
    }
    for (let round = 0; round < 2; round++) {
      expect(JSON.parse((await call('POST', '/search')).text).query).toEqual({});
      expect(JSON.parse((await call('GET', '/search?limit=3')).text).query).toEqual({ limit: 3 });
      expect(await call('PUT', '/search')).toMatchObject({ status: 405 });
      expect(await call('POST', '/v2/models/m/infer')).toMatchObject({ status: 200 });
      expect(await call('GET', '/v2/models/m/infer')).toMatchObject({ status: 405 });
    }
  });

  test('a cached path does not keep its request head in memory', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const router = createRouter([route('POST', '/v2/models/{model}/infer')], () => ({ status: 404, headers: [] }));
    const headBytes = 100_000;
    const ask = (at: number): void => {
      const path = `/v2/models/some-model-${at}/infer`;
      const head = Buffer.from(`POST ${path} ${'h'.repeat(headBytes)}`).toString('latin1');
      const request: Partial<HttpRequest> = { method: 'POST', path: head.slice(5, 5 + path.length) };
      router(request as HttpRequest);
    };
    ask(0);
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let at = 1; at < 200; at++) ask(at);
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((200 * headBytes) / 4);
    ask(0);
  });

  test('HEAD is served wherever GET is, and nowhere else', async () => {
    expect(await call('HEAD', '/v2')).toMatchObject({ status: 200, text: '' });
    expect(await call('HEAD', '/v2/models/m/infer')).toMatchObject({ status: 405, allow: 'POST' });
  });

  test('a segment that cannot be decoded is a 400 that names the parameter', async () => {
    for (const target of ['/v2/models/%E0%A4%A', '/v2/models/%', '/v2/models/%FF']) {
      expect(await call('GET', target)).toMatchObject({
        status: 400,
        text: expect.stringContaining('the model in the path'),
      });
    }
  });

  test('a query is checked against its schema', async () => {
    expect(JSON.parse((await call('GET', '/search?limit=3&word=a%20b&other=1')).text).query).toEqual({
      limit: 3,
      word: 'a b',
    });
    expect(await call('GET', '/search?limit=10')).toMatchObject({
      status: 400,
      text: expect.stringContaining('limit'),
    });
    expect(await call('GET', '/search')).toMatchObject({ status: 400 });
  });

  test('a path declared twice throws', () => {
    const refuse = () => ({ status: 500, headers: [] });
    expect(() => createRouter([route('GET', '/a/{b}'), route('GET', '/a/{b}')], refuse)).toThrow(/declared twice/);
    expect(() => createRouter([route('GET', '/a/{b}'), route('POST', '/a/{c}')], refuse)).toThrow(/another name/);
  });
});

describe('the OpenAPI document', () => {
  const named = z.object({ error: z.string() }).meta({ id: 'Error' });
  const described: readonly Route[] = [
    ...routes,
    route('PUT', '/things/{thing}', {
      parameters: { thing: digits },
      headers: { 'x-hint': z.string().describe('A hint') },
      request: { description: 'A thing', content: { 'application/json': z.object({ n: z.number() }) } },
      responses: {
        200: { description: 'Bytes', content: { 'application/octet-stream': undefined } },
        400: { description: 'Refused', content: { 'application/json': named } },
        404: { description: 'Refused', content: { 'application/json': named } },
      },
    }),
  ];
  const document = openApiDocument({ title: 'Test', version: '1' }, described);

  test('has an operation for every route, with its parameters', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths)).toHaveLength(new Set(described.map(({ path }) => path)).size);
    expect(document.paths['/search']).toMatchObject({
      get: {
        parameters: [
          { name: 'limit', in: 'query', required: true, schema: { type: 'integer' } },
          { name: 'word', in: 'query', required: false, schema: { type: 'string' } },
        ],
      },
      post: { operationId: 'POST /search' },
    });
  });

  test('describes bodies, and names a schema once that has a name', () => {
    expect(document.paths['/things/{thing}']).toEqual({
      put: {
        operationId: 'PUT /things/{thing}',
        summary: 'Says what matched',
        parameters: [
          { name: 'thing', in: 'path', required: true, schema: { type: 'string', pattern: '^[0-9]+$' } },
          { name: 'x-hint', in: 'header', required: false, schema: { type: 'string', description: 'A hint' } },
        ],
        requestBody: {
          required: true,
          description: 'A thing',
          content: {
            'application/json': {
              schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
            },
          },
        },
        responses: {
          200: {
            description: 'Bytes',
            content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
          },
          400: {
            description: 'Refused',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
          404: {
            description: 'Refused',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
        },
      },
    });
    expect(document.components.schemas).toEqual({
      Error: { type: 'object', properties: { error: { type: 'string' } }, required: ['error'] },
    });
  });

  test('is served as JSON and lists itself', async () => {
    const all = [...routes, openApiRoute({ title: 'Test', version: '1' }, routes)];
    const reply = await inject(
      createRouter(all, () => ({ status: 500, headers: [] })),
      { target: '/openapi.json' },
    );
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(Object.keys(JSON.parse(reply.text()).paths)).toContain('/openapi.json');
  });
});
