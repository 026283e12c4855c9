import type { TensorSpec } from '@millrace/protocol';

/**
 * Shapes as callers see them and as the engine sees them hold the same elements; the free dimensions of one are those
 * of the other, in order. So translating a shape is filling the free dimensions of the other side. It is done here only:
 * the router, its batches and their answers know shapes as callers see them.
 */
export function engineShapeFrom(spec: TensorSpec, shape: readonly number[]): readonly number[] {
  return spec.engineShape === undefined ? shape : filled(spec.engineShape, spec.shape, shape);
}

/** A shape that is not as it was declared to the engine is told as it is. */
export function callerShapeFrom(spec: TensorSpec, shape: readonly number[]): readonly number[] {
  if (spec.engineShape === undefined || !canBe(shape, spec.engineShape)) return shape;
  return filled(spec.shape, spec.engineShape, shape);
}

/** Whether the two shapes of a spec can be translated at all. */
export function hasTranslatableShapes(spec: TensorSpec): boolean {
  return spec.engineShape === undefined || freeCount(spec.engineShape) === freeCount(spec.shape);
}

function canBe(shape: readonly number[], declared: readonly number[]): boolean {
  return (
    shape.length === declared.length &&
    declared.every((dimension, axis) => dimension === -1 || dimension === shape[axis])
  );
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
