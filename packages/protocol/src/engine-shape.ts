import type { TensorSpec } from './tensor.ts';

/**
 * Shapes as callers see them and as the engine sees them have the same elements; the free dimensions of one are those
 * of the other, in order. So a shape is translated by filling in the free dimensions of the other side. The engine that
 * runs a model translates: batches and their answers have shapes as callers see them. For an ensemble, the router does.
 */
export function engineShapeFrom(spec: TensorSpec, shape: readonly number[]): readonly number[] {
  return spec.engineShape === undefined ? shape : filled(spec.engineShape, spec.shape, shape);
}

/** A shape that differs from what was declared to the engine is returned as it is. */
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
