/** Values that programs give by mistake: each is refused before anything is sent, with the input and the value. */
import type { Datatype } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { inputTensorFrom } from './input-tensor.ts';

/** Of the shape [-1, 3]. */
function tensorOf(datatype: Datatype, value: unknown) {
  return inputTensorFrom('m', 'x', value as never, { name: 'x', datatype, shape: [-1, 3] });
}

const array = Float32Array.of(1, 2, 3);
// biome-ignore lint/suspicious/noSparseArray: this is the mistake.
const sparse = [1, , 3];

test.each<[string, Datatype, unknown, string]>([
  ['NaN for an integer', 'INT32', [1, Number.NaN, 3], 'input "x" of m has NaN as element 1, which INT32 does not hold'],
  ['a fraction for an integer', 'INT32', [1, 1.5, 3], 'has 1.5 as element 1, which INT32 does not hold'],
  ['an integer that is too large', 'INT8', [1, 2, 300], 'has 300 as element 2, which INT8 does not hold'],
  ['a number that would become infinite', 'FP32', [1e40, 2, 3], 'has 1e+40 as element 0, which FP32 does not hold'],
  ['a hole', 'FP32', sparse, 'not Undefined as element 1'],
  ['a text among numbers', 'FP32', [1, 'a', 3], 'takes Float32Array or number[], not String as element 1'],
  ['lists in a list', 'FP32', [[1, 2, 3]], 'not Array as element 0'],
  ['64-bit integers as numbers', 'INT64', [1, 2, 3], 'takes BigInt64Array, not Number as element 0'],
  ['null', 'FP32', null, 'takes Float32Array or number[], not Null'],
  ['bytes outside of a list', 'BYTES', Uint8Array.of(1), 'takes a list of texts or byte strings, not Uint8Array'],
  ['a fraction in a shape', 'FP32', { shape: [1.5, 2], data: array }, 'but the shape [1.5, 2] has NaN'],
  ['a free size in a shape', 'FP32', { shape: [-1, -3], data: array }, 'but the shape [-1, -3] has NaN'],
  [
    'an unknown datatype',
    'FP32',
    { shape: [1, 3], data: array, datatype: 'FLOAT' },
    'is FLOAT, which takes nothing, not Float32Array',
  ],
])('%s is refused', (_, datatype, value, message) => {
  expect(() => tensorOf(datatype, value)).toThrow(message);
});

test.each<[string, Datatype, readonly number[]]>([
  ['numbers that are rounded', 'FP32', [0.1, Number.NaN, Number.NEGATIVE_INFINITY]],
  ['every kind of double', 'FP64', [1e300, Number.NaN, -0]],
  ['the limits of an integer', 'INT8', [-128, 0, 127]],
])('%s are taken', (_, datatype, value) => {
  expect(tensorOf(datatype, value)).toMatchObject({ datatype, shape: [1, 3] });
});
