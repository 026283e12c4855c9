import type { HeaderFields, HttpRequest, HttpResponse } from '@millrace/http';
import { neverCancelled } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { metricsHandler, preferredFormat } from './metrics-handler.ts';
import { MetricsRegistry } from './registry.ts';

function headersOf(fields: Readonly<Record<string, string>>): HeaderFields {
  const values = new Map(Object.entries(fields));
  return {
    get: (name) => values.get(name),
    getAll: (name) => (values.has(name) ? [values.get(name) ?? ''] : []),
    has: (name) => values.has(name),
    entries: () => values.entries(),
  };
}

async function call(method: string, path: string, accept?: string): Promise<HttpResponse & { text: string }> {
  const registry = new MetricsRegistry();
  registry.register({ name: 'a_total', type: 'counter', help: 'A.', labels: [] }).bind().add(3);
  const request: HttpRequest = {
    method,
    path,
    query: '',
    authority: 'localhost',
    version: '1.1',
    headers: headersOf(accept === undefined ? {} : { accept }),
    body: {
      lengthBytes: 0,
      readAll: async () => new Uint8Array(),
      giveAll: (_, receiver) => receiver.onBody(new Uint8Array()),
      lendAll: (_, receiver) => receiver.onBody(new Uint8Array(), () => {}),
      async *[Symbol.asyncIterator]() {},
    },
    trailers: headersOf({}),
    signal: neverCancelled,
    peer: { address: '127.0.0.1', port: 1, isEncrypted: false, owner: '127.0.0.1', isTrustedProxy: false },
    memory: { hold: () => {}, isWaiting: false, give: () => {}, hasRoomToAnswer: () => true },
  };
  const response = await metricsHandler(registry)(request);
  return { ...response, text: new TextDecoder().decode(response.body as Uint8Array) };
}

test('GET /metrics answers with the Prometheus text format', async () => {
  const response = await call('GET', '/metrics');
  expect(response.status).toBe(200);
  expect(response.headers).toContainEqual(['content-type', 'text/plain; version=0.0.4; charset=utf-8']);
  expect(response.text).toBe('# HELP a_total A.\n# TYPE a_total counter\na_total 3\n');
});

test('a scraper that asks for OpenMetrics gets it', async () => {
  const response = await call('GET', '/metrics', 'application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1');
  expect(response.headers).toContainEqual([
    'content-type',
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  ]);
  expect(response.text).toBe('# HELP a A.\n# TYPE a counter\na_total 3\n# EOF\n');
});

test('other paths and methods are answered with where the metrics are', async () => {
  const missing = await call('GET', '/');
  expect([missing.status, missing.text]).toEqual([404, 'Not found: metrics are at /metrics on this port.\n']);
  const refused = await call('POST', '/metrics');
  expect(refused.status).toBe(405);
  expect(refused.headers).toContainEqual(['allow', 'GET, HEAD']);
});

test.each([
  ['', 'prometheus'],
  ['*/*', 'prometheus'],
  ['text/plain', 'prometheus'],
  ['application/openmetrics-text', 'openmetrics'],
  ['application/openmetrics-text; version="1.0.0"', 'openmetrics'],
  ['application/openmetrics-text; version=2.0.0', 'prometheus'],
  ['application/openmetrics-text;q=0', 'prometheus'],
  ['application/openmetrics-text;q=nonsense', 'prometheus'],
  ['application/openmetrics-text;q=0.2,text/plain;q=0.9', 'prometheus'],
  ['application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2', 'openmetrics'],
])('Accept: %s means %s', (accept, format) => {
  expect(preferredFormat(accept)).toBe(format);
});
