import fc from 'fast-check';
import { expect, test } from 'vitest';
import { finish } from '../sliced-work/copy-slices.ts';
import { copySliceBytesMax } from '../sliced-work/sliced-work.ts';
import { copyCornerSlices, fillSlices } from './copy-corner.ts';

/** Each element is its own position, so that a copied element shows where it came from. */
function numbered(shape: readonly number[]): Uint16Array {
  return Uint16Array.from(
    { length: shape.reduce((product, size) => product * size, 1) },
    (_, position) => position + 1,
  );
}

function positionOf(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((position, at, axis) => position * (shape[axis] as number) + at, 0);
}

function* indicesOf(shape: readonly number[]): Generator<readonly number[]> {
  const [size, ...rest] = shape;
  if (size === undefined) yield [];
  else for (let at = 0; at < size; at++) for (const index of indicesOf(rest)) yield [at, ...index];
}

test('elements inside both blocks are copied to the same index, and nothing else is written', () => {
  const sizes = fc.array(fc.tuple(fc.nat(4), fc.nat(4)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(sizes, (pairs) => {
      const from = pairs.map(([size]) => size);
      const to = pairs.map(([, size]) => size);
      const source = numbered(from);
      const target = new Uint16Array(numbered(to).length).fill(9999);
      const block = (elements: Uint16Array, shape: readonly number[]) => ({
        bytes: new Uint8Array(elements.buffer),
        shape,
      });
      finish(copyCornerSlices(block(source, from), block(target, to), 2));
      for (const index of indicesOf(to)) {
        const isInside = index.every((at, axis) => at < (from[axis] as number));
        expect(target[positionOf(index, to)]).toBe(isInside ? source[positionOf(index, from)] : 9999);
      }
    }),
    { seed: 39, numRuns: 300 },
  );
});

test('a fill repeats an element of any bytes', () => {
  for (const element of [
    [0, 0],
    [1, 0],
    [7, 8, 9, 10],
  ]) {
    const target = new Uint8Array(element.length * 5);
    finish(fillSlices(target, Uint8Array.from(element)));
    expect([...target]).toEqual([...element, ...element, ...element, ...element, ...element]);
  }
});

function turnsOf(slices: Iterator<void, void>): number {
  let turns = 1;
  while (slices.next().done !== true) turns += 1;
  return turns;
}

test('large blocks are copied in slices, in long runs and in short ones', () => {
  const rows = (2 * copySliceBytesMax) / 1000;
  const long = { bytes: new Uint8Array(rows * 1000).fill(5), shape: [Math.floor(rows), 1000] };
  const wide = { bytes: new Uint8Array(rows * 1001), shape: [Math.floor(rows), 1001] };
  expect(turnsOf(copyCornerSlices(long, wide, 1))).toBeGreaterThanOrEqual(2);
  expect(wide.bytes.lastIndexOf(5)).toBe((Math.floor(rows) - 1) * 1001 + 999);
  const one = { bytes: new Uint8Array(3 * copySliceBytesMax).fill(6), shape: [1, 3 * copySliceBytesMax] };
  const target = { bytes: new Uint8Array(3 * copySliceBytesMax + 1), shape: [1, 3 * copySliceBytesMax + 1] };
  expect(turnsOf(copyCornerSlices(one, target, 1))).toBeGreaterThanOrEqual(3);
  expect(target.bytes.lastIndexOf(6)).toBe(3 * copySliceBytesMax - 1);
  // Many runs of one byte take as long as one run of far more bytes.
  const thin = { bytes: new Uint8Array(50_000).fill(7), shape: [50_000, 1] };
  const padded = { bytes: new Uint8Array(100_000), shape: [50_000, 2] };
  expect(turnsOf(copyCornerSlices(thin, padded, 1))).toBeGreaterThanOrEqual(6);
  expect(padded.bytes.filter((byte) => byte === 7)).toHaveLength(50_000);
});

test('a large block is filled in slices that fit together', () => {
  const target = new Uint8Array(2 * copySliceBytesMax + 3);
  expect(turnsOf(fillSlices(target, Uint8Array.of(1, 2, 3)))).toBe(3);
  expect(target.findIndex((byte, at) => byte !== (at % 3) + 1)).toBe(-1);
});
