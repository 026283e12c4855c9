import { expect, test } from 'vitest';
import { KeptInput, type KeptValues, keptShapesMax } from './kept-input.ts';

/** FLOAT in ONNX. */
const elementNumber = 1;
const refusedDimension = 2n ** 40n;

/** Values by number; as those of the engine, none may be released twice, and some shapes are refused. */
class CountedValues implements KeptValues {
  readonly live = new Set<bigint>();
  #last = 0n;

  makeValue(_data: Uint8Array, shape: BigInt64Array): bigint {
    if (shape.includes(refusedDimension)) throw new Error('Integer overflow');
    this.#last += 1n;
    this.live.add(this.#last);
    return this.#last;
  }

  releaseValue(value: bigint): void {
    if (!this.live.delete(value)) throw new Error(`value ${value} was released before`);
  }
}

const four = new Uint8Array(4);
const none = new Uint8Array(0);
const refused = [1, Number(refusedDimension), Number(refusedDimension), 0];

function keptInput(): { readonly values: CountedValues; readonly kept: KeptInput } {
  const values = new CountedValues();
  return { values, kept: new KeptInput(values, elementNumber) };
}

test('a shape that the engine refuses leaves the value of the shape before it alive', () => {
  const { values, kept } = keptInput();
  kept.hold(four, [1, 1, 1, 1]);
  expect(() => kept.hold(none, refused)).toThrow('Integer overflow');
  expect(values.live).toContain(kept.hold(four, [1, 1, 1, 1]));
  kept.release();
  expect(values.live.size).toBe(0);
});

test('a shape that the engine refuses when as many as possible are kept leaves none released', () => {
  const { values, kept } = keptInput();
  for (let rows = 2; rows < keptShapesMax + 2; rows++) kept.hold(none, [rows, 0]);
  expect(values.live.size).toBe(keptShapesMax);
  expect(() => kept.hold(none, refused)).toThrow('Integer overflow');
  for (let rows = 2; rows < keptShapesMax + 2; rows++) expect(values.live).toContain(kept.hold(none, [rows, 0]));
  kept.release();
  expect(values.live.size).toBe(0);
});

test('another shape with the same first size replaces the value, and the one before is released', () => {
  const { values, kept } = keptInput();
  const before = kept.hold(four, [1, 1]);
  const after = kept.hold(four, [1, 1, 1]);
  expect([...values.live]).toEqual([after]);
  expect(after).not.toBe(before);
});
