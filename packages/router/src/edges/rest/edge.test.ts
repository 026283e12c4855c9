import { InferenceError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { CallerRule } from '../caller.ts';
import { ManagementDouble } from '../management/testing/management-double.ts';
import type { OpenInferenceParts } from '../open-inference.ts';
import { resolveRestConfig, restDefaults } from './config.ts';
import { inferRequestSchema, inferResponseSchema } from './schemas.ts';
import { catalogueOf, echoEdge, echoParts, jsonRequest, viewOf } from './testing/echo-double.ts';

const views = [viewOf('m', { version: '3' }), viewOf('m', { version: '4' }), viewOf('a b', { isBatched: false })];

describe('server', () => {
  test('/v2 names the server and its extensions, with or without a slash', async () => {
    const { call } = echoEdge({ server: { name: 'n', version: '1.2', extensions: ['statistics', 'parameters'] } });
    for (const target of ['/v2', '/v2/']) {
      expect(JSON.parse((await call({ target })).text())).toEqual({
        name: 'n',
        version: '1.2',
        extensions: [
          'binary_tensor_data',
          'classification',
          'model_configuration',
          'parameters',
          'schedule_policy',
          'sequence',
          'sequence(string_id)',
          'statistics',
        ],
      });
    }
  });

  test('/ says what this is and where to go: JSON, or text for a browser', async () => {
    const { call } = echoEdge({ catalogue: catalogueOf(...views), server: { name: '<n>', version: '1.2' } });
    const reply = await call({ target: '/' });
    expect(JSON.parse(reply.text())).toEqual({
      about: 'Millrace 1.2, an inference server',
      name: '<n>',
      version: '1.2',
      models: ['m', 'a b'],
      modelsReady: 2,
      paths: expect.objectContaining({
        openapi: '/openapi.json',
        infer: '/v2/models/{model}/infer',
        generate: '/v2/models/{model}/generate',
        streams: '/v1/streams',
      }),
    });
    const page = await call({ target: '/', headers: [['accept', 'text/html,application/xhtml+xml,*/*;q=0.8']] });
    expect(page.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(page.text()).toMatch(
      /^Millrace 1\.2, an inference server\. This one is called <n>\.\n\nModels that are ready: m, a b\n/,
    );
    expect(page.text()).toContain('POST /v2/models/{model}/generate ');
    expect(page.text()).toContain('POST /v1/streams ');
    expect((await call({ target: '/', method: 'POST' })).status).toBe(405);
  });

  test.each([
    [true, true, 200, 200, 200],
    [true, false, 200, 400, 200],
    [false, false, 400, 400, 503],
  ])('live %s and ready %s', async (isLive, isReady, live, ready, healthz) => {
    const { call } = echoEdge({ health: { isLive, isReady } });
    const liveReply = await call({ target: '/v2/health/live' });
    expect([liveReply.status, liveReply.text(), liveReply.headers.get('content-type')]).toEqual([
      live,
      '',
      'text/plain',
    ]);
    expect((await call({ target: '/v2/health/ready' })).status).toBe(ready);
    const process = await call({ target: '/healthz' });
    expect(process.status).toBe(healthz);
    expect(JSON.parse(process.text())).toEqual({ live: isLive, ready: isReady });
  });

  test('unknown paths and methods are answered in the form of the protocol', async () => {
    const { call } = echoEdge();
    const missing = await call({ target: '/v2/nothing' });
    expect([missing.status, missing.text()]).toEqual([404, expect.stringMatching(/^\{"error":"Not Found: /)]);
    expect(missing.headers.get('millrace-error-code')).toBe('not-found');
    const wrong = await call({ target: '/v2/models/m/infer' });
    expect([wrong.status, wrong.text()]).toEqual([405, expect.stringMatching(/^\{"error":"Method Not Allowed: /)]);
    expect(wrong.headers.get('allow')).toBe('POST');
    expect((await call({ target: '/v2/models/m/versions/x/ready' })).status).toBe(404);
  });
});

describe('models', () => {
  const { call } = echoEdge({ catalogue: catalogueOf(...views) });

  test('metadata lists every ready version, or the one asked for', async () => {
    expect(JSON.parse((await call({ target: '/v2/models/m' })).text())).toEqual({
      name: 'm',
      versions: ['3', '4'],
      platform: 'onnxruntime_onnx',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
      outputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
    });
    expect(JSON.parse((await call({ target: '/v2/models/m/versions/4/' })).text()).versions).toEqual(['4']);
    expect((await call({ target: '/v2/models/a%20b' })).status).toBe(200);
  });

  test('metadata says whether requests share runs of the model, and why', async () => {
    const verdict = { kind: 'unknown', node: 'Custom_1', reason: 'not known' } as const;
    const sharing = {
      sharesRuns: false,
      isGuessed: true,
      verdict,
      reason: 'nobody knows',
      advice: '',
    };
    const view = views[0] as ReturnType<typeof viewOf>;
    const edge = echoEdge({ catalogue: catalogueOf({ ...view, sharing }) });
    const reply = await edge.call({ target: `/v2/models/${view.name}` });
    expect(JSON.parse(reply.text()).parameters).toEqual({
      shares_runs: false,
      row_verdict: 'unknown',
      row_verdict_node: 'Custom_1',
      shares_runs_reason: 'nobody knows',
    });
  });

  test('an unknown model is a 404 with its name', async () => {
    const unknown = await call({ target: '/v2/models/no' });
    expect([unknown.status, unknown.text()]).toEqual([404, `{"error":"Request for unknown model: 'no' is not found"}`]);
    expect((await call({ target: '/v2/models/m/versions/99' })).text()).toContain(`'m' version 99 is not found`);
    expect((await call({ target: '/v2/models/m/versions/99/config' })).status).toBe(404);
  });

  test('readiness is 200 without a body, or 400', async () => {
    const ready = await call({ target: '/v2/models/m/ready' });
    expect([ready.status, ready.text()]).toEqual([200, '']);
    for (const target of ['/v2/models/no/ready', '/v2/models/m/versions/99/ready']) {
      const reply = await call({ target });
      expect([reply.status, reply.text()]).toEqual([400, '{"error":"Model version not ready"}']);
      expect(reply.headers.get('millrace-error-code')).toBe('unknown-model');
    }
  });

  test('a catalogue that throws is an internal error, not a model that is not ready', async () => {
    const mustFind = () => {
      throw new TypeError('secret detail');
    };
    const edge = echoEdge({ catalogue: { ...catalogueOf(), mustFind } });
    const reply = await edge.call({ target: '/v2/models/m/ready' });
    expect(reply.status).toBe(500);
    expect(reply.text()).not.toContain('secret');
    expect(edge.errors).toHaveLength(1);
  });

  test('a model that is loading is refused with a retry delay', async () => {
    const mustFind = () => {
      throw new InferenceError('model-not-ready', 'the model is loading');
    };
    const edge = echoEdge({ catalogue: { ...catalogueOf(), mustFind } });
    const reply = await edge.call({ target: '/v2/models/m' });
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
  });

  test('the configuration keeps integers that a double does not hold', async () => {
    const config = { name: 'm', big: 2n ** 63n, nested: [{ max_batch_size: 8 }] };
    const edge = echoEdge({ catalogue: catalogueOf(viewOf('m', { config })) });
    expect((await edge.call({ target: '/v2/models/m/config' })).text()).toBe(
      '{"name":"m","big":9223372036854775808,"nested":[{"max_batch_size":8}]}',
    );
  });

  test('HEAD is served wherever GET is', async () => {
    for (const target of [
      '/v2',
      '/v2/health/live',
      '/v2/models/m',
      '/v2/models/m/config',
      '/openapi.json',
      '/healthz',
    ]) {
      const reply = await call({ method: 'HEAD', target });
      expect([reply.status, reply.body.byteLength]).toEqual([200, 0]);
    }
  });
});

function operationsOf(paths: Readonly<Record<string, object>>): readonly string[] {
  return Object.entries(paths)
    .flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`))
    .sort();
}

describe('the OpenAPI document', () => {
  // With all that an edge can have: an operation of any of them is in the list below, or fails the test.
  const all: Required<OpenInferenceParts> = {
    ...echoParts(),
    management: new ManagementDouble(),
    statistics: { of: () => [] },
  };
  const document = echoEdge(all)
    .call({ target: '/openapi.json' })
    .then((reply) => JSON.parse(reply.text()));

  test('describes every operation once', async () => {
    const { openapi, info, paths } = await document;
    expect([openapi, info.title, info.version]).toEqual(['3.1.0', 'millrace', '0.0.0']);
    expect(operationsOf(paths)).toEqual([
      'get /',
      'get /healthz',
      'get /openapi.json',
      'get /v2',
      'get /v2/health/live',
      'get /v2/health/ready',
      'get /v2/models/stats',
      'get /v2/models/{model}',
      'get /v2/models/{model}/config',
      'get /v2/models/{model}/ready',
      'get /v2/models/{model}/stats',
      'get /v2/models/{model}/versions/{version}',
      'get /v2/models/{model}/versions/{version}/config',
      'get /v2/models/{model}/versions/{version}/ready',
      'get /v2/models/{model}/versions/{version}/stats',
      'post /v2/models/{model}/generate',
      'post /v2/models/{model}/generate_stream',
      'post /v2/models/{model}/infer',
      'post /v2/models/{model}/versions/{version}/generate',
      'post /v2/models/{model}/versions/{version}/generate_stream',
      'post /v2/models/{model}/versions/{version}/infer',
      'post /v2/repository/index',
      'post /v2/repository/models/{model}/load',
      'post /v2/repository/models/{model}/unload',
      'post /v2/repository/{repository}/index',
      'post /v2/repository/{repository}/models/{model}/load',
      'post /v2/repository/{repository}/models/{model}/unload',
    ]);
  });

  test('is well-formed: unique operations, declared parameters, described responses, references that lead somewhere', async () => {
    const { paths, components } = await document;
    const operationIds = new Set<string>();
    for (const [path, item] of Object.entries<Record<string, Operation>>(paths)) {
      for (const [method, operation] of Object.entries(item)) {
        expect(['get', 'post']).toContain(method);
        expect(operationIds.has(operation.operationId)).toBe(false);
        operationIds.add(operation.operationId);
        const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
        const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
        expect(inPath.map(({ name }) => name)).toEqual(names);
        for (const parameter of inPath) expect(parameter).toMatchObject({ required: true });
        expect(Object.keys(operation.responses).length).toBeGreaterThan(0);
        for (const response of Object.values(operation.responses)) expect(response.description).not.toBe('');
      }
    }
    const text = JSON.stringify(await document);
    for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
      expect(Object.keys(components.schemas)).toContain(name);
    }
    expect(text).not.toContain('$defs');
    expect(text).not.toContain('"$schema"');
  });

  test('names the header fields that mean something to an inference', async () => {
    const { parameters } = (await document).paths['/v2/models/{model}/infer'].post;
    expect(parameters.slice(1)).toMatchObject([
      { name: 'inference-header-content-length', in: 'header', required: false, schema: { type: 'integer' } },
      { name: 'millrace-timeout-ms', in: 'header', required: false, schema: { type: 'integer' } },
    ]);
  });

  test('its schemas accept what the edge takes and gives', async () => {
    const request = {
      id: 'q',
      parameters: { timeout: 1000 },
      inputs: [{ name: 'x', shape: [1, 2], datatype: 'FP32', data: [[1, 2]] }],
      outputs: [{ name: 'x', parameters: { binary_data: false } }],
    };
    expect(inferRequestSchema.safeParse(request).success).toBe(true);
    const reply = await echoEdge().call({
      method: 'POST',
      target: '/v2/models/m/infer',
      body: JSON.stringify(request),
    });
    expect(reply.status).toBe(200);
    expect(inferResponseSchema.strict().safeParse(JSON.parse(reply.text())).success).toBe(true);
  });
});

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Record<string, { readonly description: string }>;
}

describe('options', () => {
  test('have defaults', () => {
    expect(resolveRestConfig({})).toEqual(restDefaults);
    expect(resolveRestConfig({ inputsMax: undefined as never }).inputsMax).toBe(256);
  });

  test('out of range are all reported at once', () => {
    expect(() => resolveRestConfig({ inputsMax: 0, compressionLevel: 10, bodyBytesMax: 2 ** 31 })).toThrow(
      /bodyBytesMax[\s\S]*inputsMax: must be a whole number from 1 to 65536, not 0[\s\S]*compressionLevel/,
    );
  });
});

test('a caller is identified by its address, or by the field that the operator trusts', async () => {
  const peer = { address: '10.0.0.9', port: 1, isEncrypted: false, owner: '10.0.0.9', isTrustedProxy: false };
  const request = { ...jsonRequest({ inputs: [] }), peer };
  const headers = [...(request.headers ?? []), ['millrace-caller', 'team-a'] as const];
  const plain = echoEdge();
  await plain.call({ ...request, headers });
  expect(plain.dataPlane.requests[0]?.origin.caller).toBe('10.0.0.9');
  const trusting = echoEdge({ callers: new CallerRule({ header: 'millrace-caller' }) });
  await trusting.call({ ...request, headers });
  expect(trusting.dataPlane.requests[0]?.origin.caller).toBe('team-a');
});
