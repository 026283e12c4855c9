import fc from 'fast-check';
import { expect, test } from 'vitest';
import { copyCorner, fillWith } from './copy-corner.ts';

/** Each element is its place, so that wherever it turns up it can be told where it came from. */
function numbered(shape: readonly number[]): Uint16Array {
  return Uint16Array.from({ length: shape.reduce((product, size) => product * size, 1) }, (_, place) => place + 1);
}

function placeOf(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((place, at, axis) => place * (shape[axis] as number) + at, 0);
}

function* indicesOf(shape: readonly number[]): Generator<readonly number[]> {
  const [size, ...rest] = shape;
  if (size === undefined) yield [];
  else for (let at = 0; at < size; at++) for (const index of indicesOf(rest)) yield [at, ...index];
}

test('what lies in both blocks is copied to its own place, and nothing else is touched', () => {
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
      copyCorner(block(source, from), block(target, to), 2);
      for (const index of indicesOf(to)) {
        const isInside = index.every((at, axis) => at < (from[axis] as number));
        expect(target[placeOf(index, to)]).toBe(isInside ? source[placeOf(index, from)] : 9999);
      }
    }),
    { seed: 39, numRuns: 300 },
  );
});

test('an element is written over and over, whatever its bytes', () => {
  for (const element of [
    [0, 0],
    [1, 0],
    [7, 8, 9, 10],
  ]) {
    const target = new Uint8Array(element.length * 5);
    fillWith(target, Uint8Array.from(element));
    expect([...target]).toEqual([...element, ...element, ...element, ...element, ...element]);
  }
});
