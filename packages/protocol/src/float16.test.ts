import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bf16From, fp16From, numberFromBf16, numberFromFp16, numbersFromBf16, numbersFromFp16 } from './float16.ts';

interface Format {
  readonly name: string;
  readonly fractionBits: number;
  readonly bias: number;
  readonly decode: (bits: number) => number;
  readonly encode: (value: number) => number;
}

const formats: Format[] = [
  { name: 'FP16', fractionBits: 10, bias: 15, decode: numberFromFp16, encode: fp16From },
  { name: 'BF16', fractionBits: 7, bias: 127, decode: numberFromBf16, encode: bf16From },
];

/** The definition of the format, without tricks. */
function definedValue(bits: number, { fractionBits, bias }: Format): number {
  const sign = bits >>> 15 === 1 ? -1 : 1;
  const exponent = (bits & 0x7fff) >>> fractionBits;
  const fraction = bits & ((1 << fractionBits) - 1);
  if (exponent === 2 * bias + 1) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits);
  return sign * (2 ** fractionBits + fraction) * 2 ** (exponent - bias - fractionBits);
}

for (const format of formats) {
  const infinity = (2 * format.bias + 1) << format.fractionBits;
  const quietNaN = infinity | (1 << (format.fractionBits - 1));

  test(`all 65,536 values of ${format.name} decode as defined and encode back`, () => {
    let wrong = 0;
    for (let bits = 0; bits < 0x10000; bits += 1) {
      const value = format.decode(bits);
      if (!Object.is(value, definedValue(bits, format))) wrong += 1;
      if (format.encode(value) !== (Number.isNaN(value) ? quietNaN : bits)) wrong += 1;
    }
    expect(wrong).toBe(0);
  });

  test(`between any two neighbours of ${format.name} the nearer is taken, and at the middle the even one`, () => {
    let wrong = 0;
    for (let bits = 0; bits < infinity; bits += 1) {
      const here = format.decode(bits);
      // Beyond the largest number the middle lies where the next number would be.
      const gap = bits + 1 < infinity ? format.decode(bits + 1) - here : here - format.decode(bits - 1);
      const middle = here + gap / 2;
      const even = bits % 2 === 0 ? bits : bits + 1;
      const slightly = middle * 2 ** -50;
      for (const sign of [0, 0x8000]) {
        const signed = (value: number) => (sign === 0 ? value : -value);
        if (format.encode(signed(middle)) !== (sign | even)) wrong += 1;
        if (format.encode(signed(middle - slightly)) !== (sign | bits)) wrong += 1;
        if (format.encode(signed(middle + slightly)) !== (sign | (bits + 1))) wrong += 1;
      }
    }
    expect(wrong).toBe(0);
  });

  test(`what is too large for ${format.name} is infinite, what is too small is zero, with its sign`, () => {
    for (const value of [Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      expect(format.encode(value)).toBe(infinity);
      expect(format.encode(-value)).toBe(0x8000 | infinity);
    }
    expect(format.encode(Number.MIN_VALUE)).toBe(0);
    expect(format.encode(-Number.MIN_VALUE)).toBe(0x8000);
    expect(format.encode(-0)).toBe(0x8000);
    expect(format.encode(Number.NaN)).toBe(quietNaN);
  });

  test(`no value of ${format.name} is nearer to a double than the one it is rounded to`, () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -70000, max: 70000 }), (value) => {
        const bits = format.encode(value);
        fc.pre((bits & 0x7fff) < infinity && (bits & 0x7fff) > 0);
        const distance = Math.abs(format.decode(bits) - value);
        expect(distance).toBeLessThanOrEqual(Math.abs(format.decode(bits + 1) - value));
        expect(distance).toBeLessThanOrEqual(Math.abs(format.decode(bits - 1) - value));
      }),
      { seed: 16, numRuns: 500 },
    );
  });
}

test('array forms give what the scalar forms give', () => {
  const bits = Uint16Array.from({ length: 0x10000 }, (_, index) => index);
  const values = new Float32Array(bits.length);
  numbersFromFp16(bits, values);
  expect(bits.every((bit, index) => Object.is(values[index], numberFromFp16(bit)))).toBe(true);
  numbersFromBf16(bits, values);
  expect(bits.every((bit, index) => Object.is(values[index], numberFromBf16(bit)))).toBe(true);
});
