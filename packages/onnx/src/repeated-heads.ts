/**
 * Where queries share keys and values, exporters repeat each head of a cache as often as there are queries for it: Unsqueeze, Expand and
 * Reshape, from [rows, heads, tokens, size] to [rows, heads × times, tokens, size].
 */
import type { NodeProto } from './model/model-proto.ts';
import type { ShapeArithmetic, ShapeElement } from './shape-arithmetic.ts';

/** Sizes of a cache, of which the number of heads is known. */
export type CacheSizes = readonly [rows: ShapeElement, heads: number, tokens: ShapeElement, headSize: ShapeElement];

/** Where the copies are, before they are joined with the heads. */
const copiesAxis = 2;

/** How often these three nodes repeat each head of a cache; undefined: they do something else. */
export function takeRepetition(
  [unsqueeze, expand, reshape]: readonly [NodeProto, NodeProto, NodeProto],
  sizes: CacheSizes,
  arithmetic: ShapeArithmetic,
): number | undefined {
  const operators = [unsqueeze, expand, reshape].map(({ operator }) => operator).join(' ');
  if (operators !== 'Unsqueeze Expand Reshape' || reshape.attributes.has('allowzero')) return undefined;
  const [axes, spread, joined] = [unsqueeze, expand, reshape].map(({ inputs }) =>
    arithmetic.takeElements(inputs[1] ?? ''),
  );
  if (axes?.length !== 1 || axes[0] !== copiesAxis) return undefined;
  const times = spread?.[copiesAxis];
  if (spread?.length !== sizes.length + 1 || typeof times !== 'number' || times < 1) return undefined;
  const others = spread.filter((_, axis) => axis !== copiesAxis);
  // A size of 1 leaves an axis as it is.
  if (!others.every((size, axis) => size !== undefined && (size === 1 || size === sizes[axis]))) return undefined;
  const [rows, heads, tokens, headSize] = sizes;
  const wanted = [rows, heads * times, tokens, headSize];
  if (joined?.length !== wanted.length) return undefined;
  // -1 is what is left, 0 in the first place the number of rows.
  const areAsWanted = joined.every(
    (size, axis) => size !== undefined && (size === wanted[axis] || size === -1 || (size === 0 && axis === 0)),
  );
  return areAsWanted && joined.filter((size) => size === -1).length <= 1 ? times : undefined;
}
