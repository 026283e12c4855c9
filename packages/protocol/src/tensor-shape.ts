/** Elements and bytes of a shape, safe against whatever a caller may send as one. */
import { bytesElementsProblem } from './bytes-elements.ts';
import { type Datatype, datatypes } from './datatypes.ts';

/** The number of elements of a shape that has been checked before (`shapeProblem` found nothing). */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const dimension of shape) {
    // Before the multiplication: the product of the other dimensions may be infinite.
    if (dimension === 0) return 0;
    count *= dimension;
  }
  return count;
}

/**
 * The number of elements, or undefined when a dimension is not a natural number or the product cannot be computed
 * exactly. A zero dimension makes the product zero, whatever the others are.
 */
export function takeElementCount(shape: readonly number[]): number | undefined {
  let count = 1;
  let isEmpty = false;
  for (const dimension of shape) {
    if (!Number.isSafeInteger(dimension) || dimension < 0) return undefined;
    if (dimension === 0) isEmpty = true;
    else count *= dimension;
  }
  if (isEmpty) return 0;
  // Each factor is at least 1, so an inexact step is above the maximum and no later step can bring it back.
  return count <= Number.MAX_SAFE_INTEGER ? count : undefined;
}

/** The bytes of a tensor of this shape; undefined for BYTES, whose elements differ, and for a shape that is invalid. */
export function takeByteSize(datatype: Datatype, shape: readonly number[]): number | undefined {
  const bytes = datatypes[datatype].bytes;
  const count = takeElementCount(shape);
  if (bytes === undefined || count === undefined) return undefined;
  const size = count * bytes;
  return size <= Number.MAX_SAFE_INTEGER ? size : undefined;
}

/** What is wrong with a shape as a caller wrote it, if anything. */
export function shapeProblem(shape: readonly number[]): string | undefined {
  for (let axis = 0; axis < shape.length; axis += 1) {
    const dimension = shape[axis] as number;
    if (!Number.isInteger(dimension)) return `dimension ${axis} of shape ${formatShape(shape)} is not an integer`;
    if (dimension < 0) return `dimension ${axis} of shape ${formatShape(shape)} is negative; send the actual size`;
  }
  if (takeElementCount(shape) === undefined) return `shape ${formatShape(shape)} has too many elements to count`;
  return undefined;
}

/** What is wrong with data that claims to be a tensor of this datatype and shape, if anything. */
export function tensorProblem(datatype: Datatype, shape: readonly number[], data: Uint8Array): string | undefined {
  const problem = shapeProblem(shape);
  if (problem !== undefined) return problem;
  if (datatype === 'BYTES') return bytesElementsProblem(data, elementCount(shape));
  const expected = takeByteSize(datatype, shape);
  if (expected === undefined) return `shape ${formatShape(shape)} of ${datatype} takes too many bytes to count`;
  if (data.length === expected) return undefined;
  return `shape ${formatShape(shape)} of ${datatype} takes ${expected} bytes, but the data has ${data.length}`;
}

const formattedDimensionsMax = 16;

/** A shape as messages write it; a caller's thousand dimensions do not fill the log. */
export function formatShape(shape: readonly number[]): string {
  if (shape.length <= formattedDimensionsMax) return `[${shape.join(',')}]`;
  return `[${shape.slice(0, formattedDimensionsMax).join(',')},… ${shape.length} dimensions]`;
}
