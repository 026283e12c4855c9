import { encodeBytesElements } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { catalogueOf, echoEdge, input, jsonRequest, viewOf } from './testing/echo-double.ts';

describe('classification', () => {
  const labels = new Map([['x', ['cat', 'dog']]]);
  const scores = [input('x', 'FP32', [2, 3], { data: [1, 10, 0.0078125, 5, 5, NaN] })].map((each) => ({ ...each }));
  const ask = (classification: number, more: object = {}) =>
    jsonRequest(
      JSON.stringify({ inputs: scores, outputs: [{ name: 'x', parameters: { classification, ...more } }] }).replace(
        'null',
        'NaN',
      ),
    );

  test('names the greatest of every row, with labels where there are some', async () => {
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(viewOf('m', { labels })) });
    const reply = await call(ask(2));
    expect(JSON.parse(reply.text()).outputs).toEqual([
      {
        name: 'x',
        datatype: 'BYTES',
        shape: [2, 2],
        data: ['10.000000:1:dog', '1.000000:0:cat', '5.000000:0:cat', '5.000000:1:dog'],
      },
    ]);
    expect(dataPlane.releases).toBe(1);
  });

  test('returns at most as many classes as there are, without rows where the model has none', async () => {
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m', { isBatched: false })) });
    expect(JSON.parse((await call(ask(100))).text()).outputs[0]).toMatchObject({
      shape: [6],
      data: ['10.000000:1', '5.000000:3', '5.000000:4', '1.000000:0', '0.007812:2', 'nan:5'],
    });
  });

  test('rows without elements have no classes, however many rows there are', async () => {
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m')) });
    const shape = [2 ** 40, 0];
    const outputs = [{ name: 'x', parameters: { classification: 1 } }];
    const reply = await call(
      jsonRequest(JSON.stringify({ inputs: [input('x', 'FP32', shape, { data: [] })], outputs })),
    );
    expect(JSON.parse(reply.text()).outputs).toEqual([{ name: 'x', datatype: 'BYTES', shape, data: [] }]);
  });

  test('integers keep their digits, and binary form is BYTES', async () => {
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m', { isBatched: false })) });
    const reply = await call(
      jsonRequest(
        '{"inputs":[{"name":"x","datatype":"UINT64","shape":[2],"data":[1,18446744073709551615]}],' +
          '"outputs":[{"name":"x","parameters":{"classification":1,"binary_data":true}}]}',
      ),
    );
    const jsonBytes = Number(reply.headers.get('inference-header-content-length'));
    expect(Buffer.compare(reply.body.subarray(jsonBytes), encodeBytesElements(['18446744073709551615:1']))).toBe(0);
  });

  test.each(['FP16', 'BF16', 'BOOL', 'BYTES'] as const)('%s is refused before the model runs', async (datatype) => {
    const view = viewOf('m', { outputs: [{ name: 'x', datatype, shape: [-1, 3] }] });
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(view) });
    const reply = await call(ask(1));
    expect(reply.status).toBe(400);
    expect(reply.text()).toContain(`unsupported type '${datatype}'`);
    expect(dataPlane.requests).toEqual([]);
  });

  test('outputs over classificationElementsMax are refused, and the answer released', async () => {
    const { call, dataPlane } = echoEdge({ limits: { classificationElementsMax: 5 } });
    const reply = await call(ask(1));
    expect(reply.status).toBe(413);
    expect(reply.text()).toContain('more than the 5 that classification accepts');
    expect(dataPlane.releases).toBe(1);
  });
});
