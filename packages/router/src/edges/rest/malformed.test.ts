import { request as openRequest } from 'node:http';
import { type HttpServer, serveHttp } from '@millrace/http';
import { errorCatalogue } from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { echoEdge } from './testing/echo-double.ts';
import { binaryCases } from './testing/malformed/binary.ts';
import { corpusLimits } from './testing/malformed/case.ts';
import { dataCases } from './testing/malformed/data.ts';
import { frameCases } from './testing/malformed/frame.ts';
import { parametersCases } from './testing/malformed/parameters.ts';
import { structureCases } from './testing/malformed/structure.ts';
import { textCases } from './testing/malformed/text.ts';

const malformedCorpus = [
  ...textCases,
  ...structureCases,
  ...dataCases,
  ...binaryCases,
  ...parametersCases,
  ...frameCases,
];

const unrouted = new Set(['not-found', 'method-not-allowed']);
const { call, dataPlane, errors, handler } = echoEdge({ limits: corpusLimits });

test('the corpus is as large as it should be and names every case once', () => {
  expect(malformedCorpus.length).toBeGreaterThan(120);
  expect(new Set(malformedCorpus.map(([name]) => name)).size).toBe(malformedCorpus.length);
});

describe('without a socket', () => {
  test.each(malformedCorpus)('%s', async (name, request, status, message) => {
    const reply = await call(request);
    expect(reply.status).toBe(status);
    const body = JSON.parse(reply.text());
    expect(Object.keys(body)).toEqual(['error']);
    expect(body.error).toContain(message);
    expect(body.error).not.toMatch(/\n\s+at |\.ts:/);
    const code = reply.headers.get('millrace-error-code') ?? '';
    expect(errorCatalogue[code as keyof typeof errorCatalogue].http).toBe(status);
    expect(dataPlane.requests).toEqual([]);
    expect(errors).toEqual([]);
    // Requests that reached the operation are counted; an unknown path is not a failed inference.
    const isInference =
      request.target.includes('/infer') && !unrouted.has(code) && name !== 'a model that cannot be decoded';
    expect(dataPlane.refusals.splice(0)).toEqual(isInference ? [code] : []);
  });
});

describe('over a socket', () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await serveHttp(handler, { onError: (error) => errors.push(error) });
  });
  afterAll(() => server.close());

  const sample = malformedCorpus.filter((_, index) => index % 5 === 0);
  test.each(sample)('%s', async (_, request, status, message) => {
    const headers = (request.headers ?? []).flat();
    const body = Buffer.from((request.body ?? '') as Uint8Array);
    headers.push('host', 'test', 'content-length', String(body.byteLength));
    const reply = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const { host, port } = server;
      const { method = 'GET', target: path } = request;
      const outgoing = openRequest({ host, port, method, path, headers }, (incoming) => {
        let text = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (piece: string) => {
          text += piece;
        });
        incoming.once('end', () => resolve({ status: incoming.statusCode, text }));
      });
      outgoing.once('error', reject);
      outgoing.end(body);
    });
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.text).error).toContain(message);
    expect(dataPlane.requests).toEqual([]);
    expect(errors).toEqual([]);
  });
});
