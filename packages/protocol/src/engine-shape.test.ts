import { expect, test } from 'vitest';
import { callerShapeFrom, engineShapeFrom, hasTranslatableShapes } from './engine-shape.ts';
import type { TensorSpec } from './tensor.ts';

function spec(shape: readonly number[], engineShape?: readonly number[]): TensorSpec {
  return { name: 'x', datatype: 'FP32', shape, ...(engineShape === undefined ? {} : { engineShape }) };
}

test('without a reshape a shape stays as it is', () => {
  expect(engineShapeFrom(spec([-1, 4]), [3, 4])).toEqual([3, 4]);
  expect(callerShapeFrom(spec([-1, 4]), [3, 4])).toEqual([3, 4]);
});

test.each([
  [[-1, 1], [-1], [5, 1], [5]],
  [
    [-1, 16],
    [-1, 4, 4],
    [2, 16],
    [2, 4, 4],
  ],
  [
    [-1, -1, 2],
    [-1, 2, 1, -1],
    [3, 7, 2],
    [3, 2, 1, 7],
  ],
  [[4], [2, 2], [4], [2, 2]],
])('a reshape of %j to %j turns %j into %j and back', (shape, engineShape, asCalled, asRun) => {
  const tensor = spec(shape, engineShape);
  expect(hasTranslatableShapes(tensor)).toBe(true);
  expect(engineShapeFrom(tensor, asCalled)).toEqual(asRun);
  expect(callerShapeFrom(tensor, asRun)).toEqual(asCalled);
});

test('a reshape that gains or loses a free dimension cannot be translated', () => {
  expect(hasTranslatableShapes(spec([-1, -1], [-1]))).toBe(false);
  expect(hasTranslatableShapes(spec([-1], [-1, -1]))).toBe(false);
});
