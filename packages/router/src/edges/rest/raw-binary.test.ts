import { encodeBytesElements } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { catalogueOf, echoEdge, typedBytes, viewOf } from './testing/echo-double.ts';

const floats = typedBytes(new Float32Array([1.5, -2]));

describe('raw binary requests', () => {
  const raw = (body: Uint8Array, accept?: string) => ({
    method: 'POST',
    target: '/v2/models/m/infer',
    headers: [
      ['inference-header-content-length', '0'],
      ...(accept === undefined ? [] : [['accept', accept] as const]),
    ] as const,
    body,
  });

  test.each([
    ['a batched model takes one row', { shape: [-1, 2], datatype: 'FP32' }, true, floats, [1, 2]],
    ['a free dimension takes what is there', { shape: [-1, -1, 2], datatype: 'INT8' }, true, floats, [1, 4, 2]],
    ['a model without batches, too', { shape: [-1], datatype: 'UINT16' }, false, floats, [4]],
    [
      'an empty body fills a free dimension with nothing',
      { shape: [-1], datatype: 'UINT16' },
      false,
      new Uint8Array(0),
      [0],
    ],
  ] as const)('%s', async (_, spec, isBatched, body, shape) => {
    const view = viewOf('m', { inputs: [{ name: 'x', ...spec }], isBatched });
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(view) });
    const reply = await call(raw(body));
    expect(reply.status).toBe(200);
    expect(dataPlane.requests[0]?.inputs).toMatchObject([{ name: 'x', datatype: spec.datatype, shape }]);
    expect(reply.headers.get('content-type')).toBe(
      body.byteLength > 0 ? 'application/octet-stream' : 'application/json',
    );
    expect(Buffer.compare(reply.body.subarray(reply.body.byteLength - body.byteLength), body)).toBe(0);
  });

  test.each(['application/json', 'text/html, Application/JSON;q=0.9'])(
    'the outputs are JSON for Accept: %s',
    async (accept) => {
      const view = viewOf('m', { inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }] });
      const { call } = echoEdge({ catalogue: catalogueOf(view) });
      const reply = await call(raw(floats, accept));
      expect(reply.headers.get('content-type')).toBe('application/json');
      expect(JSON.parse(Buffer.from(reply.body).toString())).toMatchObject({ outputs: [{ data: [1.5, -2] }] });
    },
  );

  test.each(['*/*', 'application/octet-stream', 'application/json-seq'])(
    'and binary for Accept: %s',
    async (accept) => {
      const view = viewOf('m', { inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }] });
      const { call } = echoEdge({ catalogue: catalogueOf(view) });
      expect((await call(raw(floats, accept))).headers.get('content-type')).toBe('application/octet-stream');
    },
  );

  test('optional inputs are left out', async () => {
    const threshold = { name: 'threshold', datatype: 'FP32', shape: [], isOptional: true, hasDefault: true } as const;
    const view = viewOf('m', { inputs: [threshold, { name: 'x', datatype: 'FP32', shape: [-1, 2] }] });
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(view) });
    expect((await call(raw(floats))).status).toBe(200);
    expect(dataPlane.requests[0]?.inputs).toMatchObject([{ name: 'x', shape: [1, 2] }]);
  });

  test('BYTES take the whole body as one element', async () => {
    const view = viewOf('m', { inputs: [{ name: 'x', datatype: 'BYTES', shape: [-1, 1] }] });
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(view) });
    await call(raw(Buffer.from('a picture')));
    expect(dataPlane.requests[0]?.inputs).toEqual([
      { name: 'x', datatype: 'BYTES', shape: [1, 1], data: encodeBytesElements(['a picture']) },
    ]);
  });

  test.each([
    [
      'two inputs',
      [
        { name: 'x', datatype: 'FP32', shape: [-1] },
        { name: 'y', datatype: 'FP32', shape: [-1] },
      ],
      '2 inputs',
    ],
    ['two free dimensions', [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }], 'more than one free dimension'],
    ['half an element', [{ name: 'x', datatype: 'FP64', shape: [-1, 3] }], 'not a multiple of the 24'],
    ['another size', [{ name: 'x', datatype: 'FP32', shape: [3] }], 'takes 12 bytes, but the body has 8'],
    ['several BYTES elements', [{ name: 'x', datatype: 'BYTES', shape: [2] }], 'more than one element'],
    ['a dimension of 0', [{ name: 'x', datatype: 'FP32', shape: [-1, 0] }], 'not a multiple of the 0'],
  ] as const)('%s cannot be guessed from bytes', async (_, inputs, message) => {
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(viewOf('m', { inputs, isBatched: false })) });
    const reply = await call(raw(floats));
    expect(reply.status).toBe(400);
    expect(reply.text()).toContain(message);
    expect(dataPlane.requests).toEqual([]);
  });
});
