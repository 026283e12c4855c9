import { expect, test } from 'vitest';
import { encodeBytesElements } from './bytes-elements.ts';
import { type Datatype, datatypes, isDatatype, takeDatatypeOfConfig } from './datatypes.ts';
import {
  elementCount,
  formatShape,
  shapeProblem,
  takeByteSize,
  takeElementCount,
  tensorProblem,
} from './tensor-shape.ts';

const max = Number.MAX_SAFE_INTEGER;

test('elements are counted exactly or not at all', () => {
  expect(takeElementCount([])).toBe(1);
  expect(takeElementCount([2, 3, 4])).toBe(24);
  expect(takeElementCount([max])).toBe(max);
  expect(takeElementCount([max, 2])).toBeUndefined();
  expect(takeElementCount([2 ** 27, 2 ** 27])).toBeUndefined();
  expect(takeElementCount(new Array(400).fill(max))).toBeUndefined();
  expect(takeElementCount([-1])).toBeUndefined();
  expect(takeElementCount([-2, -3])).toBeUndefined();
  expect(takeElementCount([1.5])).toBeUndefined();
  expect(takeElementCount([Number.NaN])).toBeUndefined();
  expect(takeElementCount([Number.POSITIVE_INFINITY, 0])).toBeUndefined();
});

test('a zero dimension makes the product zero, however large the others are', () => {
  const shape = [...new Array<number>(400).fill(max), 0];
  expect(takeElementCount(shape)).toBe(0);
  expect(elementCount(shape)).toBe(0);
  expect(takeByteSize('FP64', shape)).toBe(0);
  expect(tensorProblem('INT8', shape, new Uint8Array(0))).toBeUndefined();
});

test('byte sizes follow the datatype and stop where they cannot be counted', () => {
  for (const name of Object.keys(datatypes) as Datatype[]) {
    const bytes = datatypes[name].bytes;
    expect(takeByteSize(name, [3, 5])).toBe(bytes === undefined ? undefined : 15 * bytes);
  }
  expect(takeByteSize('INT8', [max])).toBe(max);
  expect(takeByteSize('INT16', [max])).toBeUndefined();
});

test('every problem of a tensor has its own message', () => {
  const data = new Uint8Array(12);
  expect(tensorProblem('FP32', [3], data)).toBeUndefined();
  expect(tensorProblem('FP32', [4], data)).toBe('shape [4] of FP32 takes 16 bytes, but the data has 12');
  expect(tensorProblem('FP32', [3, -1], data)).toBe('dimension 1 of shape [3,-1] is negative; send the actual size');
  expect(tensorProblem('FP32', [0.5], data)).toBe('dimension 0 of shape [0.5] is not an integer');
  expect(tensorProblem('FP32', [max, 9], data)).toMatch(/has too many elements to count$/);
  expect(tensorProblem('FP64', [max], data)).toMatch(/takes too many bytes to count$/);
  expect(tensorProblem('BYTES', [2], encodeBytesElements(['a', 'b']))).toBeUndefined();
  expect(tensorProblem('BYTES', [3], encodeBytesElements(['a', 'b']))).toMatch(/has 2 BYTES elements/);
  expect(shapeProblem([])).toBeUndefined();
  expect(shapeProblem([2 ** 60])).toBe(`shape [${2 ** 60}] has too many elements to count`);
});

test('a shape of many dimensions is cut short in messages', () => {
  expect(formatShape([1, 2])).toBe('[1,2]');
  expect(formatShape(new Array(1000).fill(7)).length).toBeLessThan(60);
});

test('datatypes are found by wire name and by configuration name only', () => {
  expect(isDatatype('FP32')).toBe(true);
  expect(isDatatype('toString')).toBe(false);
  expect(takeDatatypeOfConfig('TYPE_STRING')).toBe('BYTES');
  expect(takeDatatypeOfConfig('FP32')).toBeUndefined();
  expect(takeDatatypeOfConfig('__proto__')).toBeUndefined();
});
