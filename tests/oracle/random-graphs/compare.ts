/** Compares an answer with that of ONNX Runtime: shape, datatype and all but floats exactly, floats within a tolerance. */
import { type Datatype, elementsOf, numberFromFp16, type Tensor } from '@millrace/protocol';
import type { Case, CaseRequest } from './case.ts';

/** Allowed difference: a part of the value, plus a part of the largest magnitude of its row. */
interface Tolerance {
  readonly relative: number;
  readonly ofRow: number;
}

const single: Tolerance = { relative: 1e-5, ofRow: 1e-6 };
/** A step of a 16-bit float is 1e-3 of its value, and a few of them add up. */
const half: Tolerance = { relative: 4e-3, ofRow: 2e-3 };

const floats: ReadonlySet<Datatype> = new Set(['FP16', 'FP32', 'FP64']);

/** What is wrong with the outputs; undefined when nothing is. */
export function differenceOf(
  graph: Pick<Case, 'half' | 'random'>,
  expected: readonly Tensor[],
  actual: readonly Tensor[],
): string | undefined {
  for (const one of expected) {
    const other = actual.find(({ name }) => name === one.name);
    if (other === undefined) return `output ${one.name} is missing`;
    const head = ({ datatype, shape }: Tensor) => `${datatype} [${shape.join(', ')}]`;
    if (head(one) !== head(other)) return `output ${one.name} is ${head(other)}, not ${head(one)}`;
    if (graph.random.includes(one.name)) continue;
    const at = firstDifference(one, other, graph.half || one.datatype === 'FP16' ? half : single);
    if (at !== undefined) return `output ${one.name}, ${at}`;
  }
  return actual.length === expected.length ? undefined : `${actual.length} outputs, not ${expected.length}`;
}

function firstDifference(expected: Tensor, actual: Tensor, tolerance: Tolerance): string | undefined {
  if (Buffer.compare(expected.data, actual.data) === 0) return undefined;
  if (!floats.has(expected.datatype)) {
    const wanted = elementsOf(expected);
    const got = elementsOf(actual);
    const at = wanted.findIndex((value: number | bigint, index: number) => value !== got[index]);
    return at < 0 ? `${got.length} elements, not ${wanted.length}` : `element ${at}: ${got[at]}, not ${wanted[at]}`;
  }
  const wanted = numbersOf(expected);
  const got = numbersOf(actual);
  if (wanted.length !== got.length) return `${got.length} elements, not ${wanted.length}`;
  const rowSize = Math.max(1, wanted.length / Math.max(1, expected.shape[0] ?? 1));
  for (let start = 0; start < wanted.length; start += rowSize) {
    const end = Math.min(wanted.length, start + rowSize);
    const largest = largestMagnitude(wanted, start, end);
    for (let at = start; at < end; at++) {
      const value = wanted[at] as number;
      const other = got[at] as number;
      if (value === other || (Number.isNaN(value) && Number.isNaN(other))) continue;
      if (Math.abs(value - other) <= tolerance.relative * Math.abs(value) + tolerance.ofRow * largest) continue;
      return `element ${at}: ${other}, not ${value}`;
    }
  }
  return undefined;
}

function largestMagnitude(values: ArrayLike<number>, start: number, end: number): number {
  let largest = 0;
  for (let at = start; at < end; at++) {
    const magnitude = Math.abs(values[at] as number);
    if (magnitude > largest && magnitude !== Number.POSITIVE_INFINITY) largest = magnitude;
  }
  return largest;
}

function numbersOf(tensor: Tensor): ArrayLike<number> {
  const elements = elementsOf(tensor) as Float32Array;
  return tensor.datatype === 'FP16' ? Array.from(elements, numberFromFp16) : elements;
}

/**
 * Whether a wrong answer looks like memory that the engine did not write: an output of zeros only, or one that holds, byte by byte,
 * a tensor of another request.
 */
export function isProbablyUnwritten(
  request: CaseRequest,
  actual: readonly Tensor[],
  others: readonly CaseRequest[],
): boolean {
  return actual.some((output) => {
    const expected = request.outputs?.find(({ name }) => name === output.name);
    if (expected === undefined || output.data.length === 0 || Buffer.compare(expected.data, output.data) === 0)
      return false;
    if (output.data.every((byte) => byte === 0)) return true;
    const seen = others
      .filter((other) => other !== request)
      .flatMap(({ inputs, outputs = [] }) => [...inputs, ...outputs]);
    return output.data.length >= 8 && seen.some(({ data }) => Buffer.compare(data, output.data) === 0);
  });
}
