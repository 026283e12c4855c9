/**
 * Budget: a request of 64 floats, from body to answer and without a socket, takes at most one and a half times as long
 * in binary, and three times as long in JSON, as JSON.parse and JSON.stringify alone take for that JSON.
 */
import { bench, describe } from 'vitest';
import { binaryRequest, binarySize, echoEdge, input, jsonRequest, typedBytes } from './testing/echo-double.ts';

const values = Array.from({ length: 64 }, (_, index) => Math.fround(Math.sin(index)));
const floats = typedBytes(new Float32Array(values));
const edge = echoEdge();
const asBinary = binaryRequest(
  { inputs: [input('x', 'FP32', [1, 64], binarySize(256))], parameters: { binary_data_output: true } },
  floats,
);
const asJson = jsonRequest({ inputs: [input('x', 'FP32', [1, 64], { data: values })] });
const text = String(asJson.body);

describe('a request of 64 floats', () => {
  bench('binary through the edge', async () => {
    await edge.call(asBinary);
    edge.dataPlane.requests.length = 0;
  });

  bench('JSON through the edge', async () => {
    await edge.call(asJson);
    edge.dataPlane.requests.length = 0;
  });

  bench('JSON.parse and JSON.stringify alone', () => {
    JSON.stringify(JSON.parse(text));
  });
});
