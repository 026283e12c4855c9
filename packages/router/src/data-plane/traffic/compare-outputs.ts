/** Compares the answers of two versions; floating point numbers may differ in their last digits. */
import { copyOf, numbersFromBf16, numbersFromFp16, type Tensor } from '@millrace/protocol';

/** Relative to the larger of the two numbers, and at least to 1. */
const relativeTolerance = 1e-4;
/** For datatypes with 16 bits, which have less precision. */
const relativeTolerance16 = 2e-2;

export function areOutputsAlike(expected: readonly Tensor[], given: readonly Tensor[]): boolean {
  return expected.length === given.length && expected.every((tensor, index) => isAlike(tensor, given[index] as Tensor));
}

function isAlike(expected: Tensor, given: Tensor): boolean {
  if (expected.name !== given.name || expected.datatype !== given.datatype) return false;
  if (expected.shape.join() !== given.shape.join()) return false;
  if (Buffer.compare(expected.data, given.data) === 0) return true;
  const [a, b] = [numbersOf(expected), numbersOf(given)];
  if (a === undefined || b === undefined || a.length !== b.length) return false;
  const tolerance =
    expected.datatype === 'FP16' || expected.datatype === 'BF16' ? relativeTolerance16 : relativeTolerance;
  return a.every((number, index) => isClose(number, b[index] as number, tolerance));
}

function isClose(a: number, b: number, tolerance: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  const larger = Math.max(1, Math.abs(a), Math.abs(b));
  return larger !== Number.POSITIVE_INFINITY && Math.abs(a - b) <= tolerance * larger;
}

/** Undefined for datatypes without tolerance. */
function numbersOf({ datatype, data }: Tensor): Float32Array | Float64Array | undefined {
  // A copy, because it is aligned for numbers of any width.
  const { buffer } = copyOf(data);
  switch (datatype) {
    case 'FP32':
      return new Float32Array(buffer);
    case 'FP64':
      return new Float64Array(buffer);
    case 'FP16':
    case 'BF16': {
      const bits = new Uint16Array(buffer);
      const numbers = new Float32Array(bits.length);
      if (datatype === 'FP16') numbersFromFp16(bits, numbers);
      else numbersFromBf16(bits, numbers);
      return numbers;
    }
    default:
      return undefined;
  }
}
