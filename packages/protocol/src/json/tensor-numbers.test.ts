import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Datatype } from '../datatypes.ts';
import { elementsOf } from '../elements.ts';
import { bf16From, fp16From, numberFromBf16, numberFromFp16 } from '../float16.ts';
import { JsonReader } from './reader.ts';
import { readTensorData } from './tensor-reader.ts';
import { arrayBytes, elements, read, refusalOf, write } from './testing/tensor-text.ts';

const encoder = new TextEncoder();

const ranges: [Datatype, bigint, bigint][] = [
  ['UINT8', 0n, 255n],
  ['UINT16', 0n, 65535n],
  ['UINT32', 0n, 2n ** 32n - 1n],
  ['UINT64', 0n, 2n ** 64n - 1n],
  ['INT8', -128n, 127n],
  ['INT16', -32768n, 32767n],
  ['INT32', -(2n ** 31n), 2n ** 31n - 1n],
  ['INT64', -(2n ** 63n), 2n ** 63n - 1n],
];

describe('integers', () => {
  for (const [datatype, min, max] of ranges) {
    test(`${datatype} takes exactly its range and writes it back`, () => {
      const safe = 2n ** 53n;
      const edges = [
        min,
        min + 1n,
        -safe - 1n,
        -safe,
        1n - safe,
        -1n,
        0n,
        1n,
        safe - 1n,
        safe,
        safe + 1n,
        max - 1n,
        max,
      ];
      const inside = edges.filter((value) => value >= min && value <= max);
      const text = `[${inside.join(',')}]`;
      const data = read(datatype, [inside.length], text);
      expect(Array.from(elementsOf({ datatype, data }) as ArrayLike<number | bigint>, BigInt)).toEqual(inside);
      expect(write(datatype, data)).toBe(text);
      for (const outside of [min - 1n, max + 1n, max * 2n + 1n, 10n ** 400n]) {
        const quoted =
          outside > 10n ** 30n ? `1${'0'.repeat(39)}… (${String(outside).length} characters)` : `${outside}`;
        expect(refusalOf(datatype, [2], `[0,${outside}]`)).toBe(
          `element 1 of input 'x' is ${quoted}, which does not fit ${datatype}`,
        );
      }
      for (const notInteger of ['1.0', '1e2', '1e400', 'NaN', 'Infinity', '0.5']) {
        expect(refusalOf(datatype, [1], `[${notInteger}]`)).toBe(
          `element 0 of input 'x' is ${notInteger}, which is not an integer; ${datatype} takes integers, written without point or exponent`,
        );
      }
      expect(Number((elements(datatype, [1], '[-0]') as ArrayLike<number | bigint>)[0])).toBe(0);
    });
  }

  test('any 64-bit integers survive the round trip', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 20 }), (values) => {
        const data = arrayBytes(BigInt64Array.from(values));
        expect(write('INT64', data)).toBe(`[${values.join(',')}]`);
        expect(read('INT64', [values.length], `[${values.join(' , ')}]`)).toEqual(data);
      }),
      { seed: 21, numRuns: 500 },
    );
  });
});

describe('floats', () => {
  const anyBits32 = fc.integer({ min: 0, max: 0xffff_ffff });

  test('FP32 survives the round trip bit for bit, NaN as NaN, and is never longer than JSON.stringify', () => {
    fc.assert(
      fc.property(fc.array(anyBits32, { minLength: 50, maxLength: 50 }), (bits) => {
        const values = new Float32Array(Uint32Array.from(bits).buffer);
        const text = write('FP32', arrayBytes(values));
        expect(elements('FP32', [50], text)).toEqual(values);
        for (const [index, part] of text.slice(1, -1).split(',').entries()) {
          const value = values[index] as number;
          expect(Object.is(Math.fround(Number(part)), value)).toBe(true);
          expect(part.length).toBeLessThanOrEqual(String(value).length + 2);
          // Nine significant digits tell any two FP32 apart.
          expect(
            part
              .replace(/e.*|[-.]/g, '')
              .replace(/^0+/, '')
              .replace(/0+$/, '').length,
          ).toBeLessThanOrEqual(9);
        }
      }),
      { seed: 22, numRuns: 300 },
    );
  });

  test('FP32 is written as people write it', () => {
    const cases: [number, string][] = [
      [0.1, '0.1'],
      [-0.1, '-0.1'],
      [0, '0.0'],
      [-0, '-0.0'],
      [1, '1.0'],
      [-3, '-3.0'],
      [16777216, '16777216.0'],
      [0.3, '0.3'],
      [1 / 3, '0.33333334'],
      [3.14159274, '3.1415927'],
      [1e-6, '0.000001'],
      [1e-7, '1e-7'],
      [1.17549435e-38, '1.1754944e-38'],
      [1.401298464324817e-45, '1e-45'],
      [3.4028234663852886e38, '3.4028235e38'],
      [1e20, '100000000000000000000.0'],
      [1e21, '1e21'],
      [123456.789, '123456.79'],
      [Number.NaN, 'NaN'],
      [Number.POSITIVE_INFINITY, 'Infinity'],
      [Number.NEGATIVE_INFINITY, '-Infinity'],
    ];
    for (const [value, text] of cases) expect(write('FP32', arrayBytes(Float32Array.of(value)))).toBe(`[${text}]`);
  });

  test('no FP32 near a power of two or of ten loses its neighbour', () => {
    const word = new Uint32Array(1);
    const single = new Float32Array(word.buffer);
    const bits: number[] = [];
    for (let exponent = 0; exponent < 255; exponent += 1) {
      for (let offset = -3; offset <= 3; offset += 1) bits.push(Math.max(0, exponent * 2 ** 23 + offset));
    }
    for (let power = -45; power <= 38; power += 1) {
      single[0] = Number(`1e${power}`);
      for (let offset = -3; offset <= 3; offset += 1) bits.push(Math.max(0, (word[0] as number) + offset));
    }
    const values = new Float32Array(Uint32Array.from(bits).buffer);
    expect(elements('FP32', [values.length], write('FP32', arrayBytes(values)))).toEqual(values);
  });

  test('FP64 survives the round trip bit for bit', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { minLength: 20, maxLength: 20 }), (list) => {
        const values = Float64Array.from(list);
        expect(elements('FP64', [20], write('FP64', arrayBytes(values)))).toEqual(values);
      }),
      { seed: 23, numRuns: 200 },
    );
    const edges = Float64Array.of(
      0,
      -0,
      5e-324,
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      0.1,
      1e21,
      2 ** 53,
      1e7,
      123456789,
    );
    expect(write('FP64', arrayBytes(edges))).toBe(
      '[0.0,-0.0,5e-324,1.7976931348623157e+308,-1.7976931348623157e+308,0.1,1e+21,9007199254740992.0,10000000.0,123456789.0]',
    );
    expect(elements('FP64', [edges.length], write('FP64', arrayBytes(edges)))).toEqual(edges);
  });

  for (const [datatype, decode, infinity] of [
    ['FP16', numberFromFp16, 0x7c00],
    ['BF16', numberFromBf16, 0x7f80],
  ] as const) {
    test(`all 65,536 values of ${datatype} survive the round trip`, () => {
      const bits = Uint16Array.from({ length: 0x10000 }, (_, index) => index);
      const back = elements(datatype, [0x10000], write(datatype, arrayBytes(bits)));
      const isNaN16 = (value: number) => (value & 0x7fff) > infinity;
      expect(
        bits.every((value, index) => (isNaN16(value) ? isNaN16(back[index] as number) : back[index] === value)),
      ).toBe(true);
      expect(write(datatype, arrayBytes(bits.subarray(1, 2)))).toBe(datatype === 'FP16' ? '[6e-8]' : '[9e-41]');
      expect(decode(back[infinity] as number)).toBe(Number.POSITIVE_INFINITY);
    });
  }

  test('16-bit floats are written in few digits and rounded once when read', () => {
    expect(write('FP16', arrayBytes(Uint16Array.of(fp16From(0.1), fp16From(65504))))).toBe('[0.1,65504.0]');
    expect(write('BF16', arrayBytes(Uint16Array.of(bf16From(0.1), bf16From(3e38))))).toMatch(/^\[0.1,3e38\]$/);
    // Just above the middle of two FP16: rounding to FP32 first would make it the middle, and then the even one.
    expect(elements('FP16', [1], '[1.00048828125000001]')[0]).toBe(fp16From(1));
    expect(elements('FP16', [1], '[1.0004882812501]')[0]).toBe(fp16From(1) + 1);
  });

  test('what does not fit is refused, and the literals for infinity are accepted', () => {
    for (const [datatype, text] of [
      ['FP64', '1e999'],
      ['FP64', '-1e309'],
      ['FP32', '3.5e38'],
      ['FP32', '-1e999'],
      ['FP16', '65520'],
      ['BF16', '3.4e38'],
    ] as const) {
      expect(refusalOf(datatype, [1], `[${text}]`)).toBe(
        `element 0 of input 'x' is ${text}, which does not fit ${datatype}`,
      );
      expect(() => read(datatype, [3], '[NaN,Infinity,-Infinity]')).not.toThrow();
    }
    expect(elements('FP32', [4], '[3.4028235e38, 1e-60, -0, 1]')).toEqual(
      Float32Array.of(3.4028234663852886e38, 0, -0, 1),
    );
  });

  test('FP32 is what rounding the nearest double gives', () => {
    fc.assert(
      fc.property(
        fc.float({ noNaN: true, noDefaultInfinity: true }),
        fc.constantFrom(0.5, 0.49999999, 0.50000001),
        (value, part) => {
          const middle = value + part * Math.abs(value) * 2 ** -23;
          fc.pre(Math.abs(middle) < 3e38);
          for (const text of [String(middle), middle.toPrecision(17), middle.toPrecision(10)]) {
            expect(elements('FP32', [1], `[${text}]`)[0]).toBe(Math.fround(Number(text)));
          }
        },
      ),
      { seed: 24, numRuns: process.env.TEST_LONG === '1' ? 3000 : 500 },
    );
  });

  test('16-bit floats are refused unless asked for, with the message that clients of Triton know', () => {
    const reader = new JsonReader(encoder.encode('[1]'));
    expect(() => readTensorData(reader, { name: 'in', datatype: 'FP16', shape: [1] })).toThrow(
      'receiving FP16 data via JSON is not supported. Please use the binary data format for input in',
    );
  });
});
