/** Passes tensors between models that batch and models that do not, by Triton's rules for adding and dropping the batch dimension. */

/** The shape that a model, or an ensemble, declares for a tensor; it begins with the batch dimension where the model batches. */
export interface DeclaredShape {
  readonly shape: readonly number[];
  readonly isBatched: boolean;
}

/**
 * The shape in which a tensor is passed to a receiving model. A tensor without a batch dimension gains a batch of one where
 * its whole shape is a row; a batch of one is dropped where the receiver's shape has none; a single value becomes a list of
 * one where the receiver declares that. Every other mismatch is left to the receiver's own check.
 */
export function fitBatch(shape: readonly number[], isBatched: boolean, wanted: DeclaredShape): readonly number[] {
  const wantedRow = wanted.isBatched ? wanted.shape.slice(1) : wanted.shape;
  const isSingle = shape.length === (isBatched ? 1 : 0) && wantedRow.length === 1 && wantedRow[0] === 1;
  return fitRows(isSingle ? [...shape, 1] : shape, isBatched, wanted);
}

function fitRows(shape: readonly number[], isBatched: boolean, wanted: DeclaredShape): readonly number[] {
  if (isBatched === wanted.isBatched) return shape;
  if (wanted.isBatched) return shapesMeet(shape, wanted.shape.slice(1)) ? [1, ...shape] : shape;
  return shape[0] === 1 && !shapesMeet(shape, wanted.shape) ? shape.slice(1) : shape;
}

/** Whether two shapes are compatible: a free size matches any size. */
export function shapesMeet(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size < 0 || (b[axis] as number) < 0 || size === b[axis]);
}
