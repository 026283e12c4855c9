import type { TensorSpec } from '@millrace/protocol';

/**
 * Shapes as callers see them and as the engine sees them hold the same elements; the free dimensions of one are those
 * of the other, in order. So translating a shape is filling the free dimensions of the other side.
 */
export function engineShapeFrom(spec: TensorSpec, shape: readonly number[]): readonly number[] {
  return spec.engineShape === undefined ? shape : filled(spec.engineShape, spec.shape, shape);
}

export function callerShapeFrom(spec: TensorSpec, shape: readonly number[]): readonly number[] {
  return spec.engineShape === undefined ? shape : filled(spec.shape, spec.engineShape, shape);
}

/** Whether the two shapes of a spec can be translated at all. */
export function hasTranslatableShapes(spec: TensorSpec): boolean {
  return spec.engineShape === undefined || freeCount(spec.engineShape) === freeCount(spec.shape);
}

function filled(pattern: readonly number[], sourcePattern: readonly number[], source: readonly number[]): number[] {
  const result: number[] = [];
  let at = 0;
  for (const dimension of pattern) {
    if (dimension !== -1) {
      result.push(dimension);
      continue;
    }
    while (sourcePattern[at] !== -1 && at < sourcePattern.length) at++;
    result.push(source[at] ?? 0);
    at++;
  }
  return result;
}

function freeCount(shape: readonly number[]): number {
  return shape.filter((dimension) => dimension === -1).length;
}
