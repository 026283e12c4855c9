/** Tensors between models that batch and models that do not: Triton's rules for a dimension of rows that only one has. */

/** What a model, or an ensemble, has declared of a tensor; with a dimension of rows in front where it batches. */
export interface DeclaredShape {
  readonly shape: readonly number[];
  readonly isBatched: boolean;
}

/**
 * The shape that a tensor has for the one who takes it. One without rows gains a batch of one where its whole shape is a
 * row; one with rows loses a batch of one where the taker's shape has none; a single value becomes a list of one where the
 * taker declares that. Everything else is left to the taker's check.
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

/** Free sizes meet any. */
export function shapesMeet(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size < 0 || (b[axis] as number) < 0 || size === b[axis]);
}
