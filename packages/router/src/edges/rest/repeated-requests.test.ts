import type { InjectedRequest } from '@millrace/http';
import { describe, expect, test } from 'vitest';
import { restDefaults } from './config.ts';
import { InferJsonReader, knownJsonBytesMax } from './infer-json.ts';
import { binaryRequest, binarySize, echoEdge, input, jsonRequest, typedBytes } from './testing/echo-double.ts';

const floats = (...values: number[]): Uint8Array => typedBytes(new Float32Array(values));
const asked = (shape: number[], more: object = {}): object => ({
  inputs: [input('x', 'FP32', shape, binarySize(4 * shape.reduce((product, dimension) => product * dimension, 1)))],
  parameters: { binary_data_output: true },
  ...more,
});

/** The answer's JSON and the floats behind it. */
async function answerTo(edge: ReturnType<typeof echoEdge>, request: InjectedRequest) {
  const reply = await edge.call(request);
  expect(reply.status).toBe(200);
  const body = reply.body;
  const jsonBytes = Number(reply.headers.get('inference-header-content-length') ?? body.byteLength);
  const data = new Float32Array(new Uint8Array(body.subarray(jsonBytes)).buffer);
  return { json: JSON.parse(Buffer.from(body.subarray(0, jsonBytes)).toString('utf8')), data: [...data] };
}

describe('a request with repeated JSON', () => {
  test('is answered with its own tensors, time after time', async () => {
    const edge = echoEdge();
    for (let at = 0; at < 5; at++) {
      const { json, data } = await answerTo(edge, binaryRequest(asked([1, 2]), floats(at, -at)));
      expect(data).toEqual([at, -at]);
      expect(json.outputs).toEqual([
        { name: 'x', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } },
      ]);
    }
    expect(edge.dataPlane.releases).toBe(5);
  });

  test('keeps its id, its shape and its model to itself', async () => {
    const edge = echoEdge();
    const ids: unknown[] = [];
    for (const id of ['a', 'b', 'a', '']) {
      const { json } = await answerTo(edge, binaryRequest(asked([1, 2], id === '' ? {} : { id }), floats(1, 2)));
      ids.push(json.id);
    }
    expect(ids).toEqual(['a', 'b', 'a', undefined]);
    for (const shape of [
      [1, 2],
      [2, 2],
      [4, 1],
      [1, 2],
    ]) {
      const rows = floats(...Array.from({ length: (shape[0] as number) * (shape[1] as number) }, (_, at) => at));
      const { json, data } = await answerTo(edge, binaryRequest(asked(shape), rows));
      expect(json.outputs[0].shape).toEqual(shape);
      expect(data).toHaveLength(rows.length / 4);
    }
    const versions: unknown[] = [];
    for (const target of ['/v2/models/m/infer', '/v2/models/m/versions/7/infer', '/v2/models/m/infer']) {
      const { json } = await answerTo(edge, { ...binaryRequest(asked([1, 2]), floats(1, 2)), target });
      versions.push(json.model_version);
    }
    expect(versions).toEqual(['1', '7', '1']);
  });

  test('is refused again where its tensors are too short or too long', async () => {
    const edge = echoEdge();
    await answerTo(edge, binaryRequest(asked([1, 2]), floats(1, 2)));
    for (const wrong of [floats(1), floats(1, 2, 3)]) {
      const reply = await edge.call(binaryRequest(asked([1, 2]), wrong));
      expect(reply.status).toBe(400);
      expect(reply.text()).toMatch(/unexpected size|unexpected additional/);
    }
    await answerTo(edge, binaryRequest(asked([1, 2]), floats(1, 2)));
  });

  test('is found by its bytes, not by their buffer', async () => {
    const edge = echoEdge();
    const first = binaryRequest(asked([1, 2]), floats(1, 2));
    await answerTo(edge, first);
    first.body.fill(0);
    expect((await answerTo(edge, binaryRequest(asked([1, 2]), floats(3, 4)))).data).toEqual([3, 4]);
    expect((await edge.call(first)).status).toBe(400);
  });

  test('may ask for JSON: nothing of the previous answer is used', async () => {
    const edge = echoEdge();
    const request = { inputs: [input('x', 'FP32', [1, 2], binarySize(8))] };
    for (const value of [1.5, 2.5]) {
      const reply = await edge.call(binaryRequest(request, floats(value, 0)));
      expect(reply.text()).toContain(`"data":[${value},0.0]`);
    }
  });

  test('has its data read each time when it is in the JSON', async () => {
    const edge = echoEdge();
    for (const value of [1, 2, 1]) {
      const reply = await edge.call(jsonRequest({ inputs: [input('x', 'FP32', [1, 2], { data: [value, 0] })] }));
      expect(reply.text()).toContain(`"data":[${value}.0,0.0]`);
    }
  });
});

describe('the cache of JSON', () => {
  const bytes = (json: unknown): Uint8Array => Buffer.from(JSON.stringify(json));

  test('holds JSON up to knownJsonBytesMax without data and without an id', () => {
    const reader = new InferJsonReader(restDefaults);
    const read = (json: unknown) => reader.read(bytes(json), bytes(json).byteLength);
    const second = (json: unknown) => {
      read(json);
      return read(json);
    };
    expect(second(asked([1, 2]))).toBe(read(asked([1, 2])));
    const long = asked([1, 2], { more: 'x'.repeat(knownJsonBytesMax) });
    expect(second(long)).not.toBe(read(long));
    const withData = { inputs: [input('x', 'FP32', [1], { data: [1] })] };
    expect(second(withData)).not.toBe(read(withData));
    const withId = asked([1, 2], { id: 'a' });
    expect(second(withId)).not.toBe(read(withId));
  });

  test('keeps its entries, whatever ids come in between', () => {
    const reader = new InferJsonReader(restDefaults);
    const read = (json: unknown) => reader.read(bytes(json), bytes(json).byteLength);
    read(asked([1, 2]));
    const known = read(asked([1, 2]));
    for (let length = 1; length <= 500; length++) read(asked([1, 2], { id: 'i'.repeat(length) }));
    expect(read(asked([1, 2]))).toBe(known);
  });

  test('never returns an entry for other JSON of the same length', () => {
    const reader = new InferJsonReader(restDefaults);
    for (let round = 0; round < 2; round++) {
      for (let letter = 0; letter < 26; letter++) {
        for (const second of 'abcdefghijklmnopqrstuvwxyz') {
          const name = String.fromCharCode(97 + letter) + second;
          const json = bytes({
            inputs: [input(name, 'FP32', [1], binarySize(4))],
            outputs: [{ name: `${second}${name}` }],
          });
          const { inputs, outputs } = reader.read(json, json.byteLength);
          expect(inputs).toMatchObject([{ head: { name } }]);
          expect(outputs).toEqual([`${second}${name}`]);
        }
      }
    }
  });
});
