import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeBytesElements, takeBytesElements } from '../bytes-elements.ts';
import { type Datatype, datatypes } from '../datatypes.ts';
import { elementsOf } from '../elements.ts';
import { InferenceError } from '../errors.ts';
import { bf16From, fp16From, numberFromBf16, numberFromFp16 } from '../float16.ts';
import { JsonReader } from './reader.ts';
import { readTensorData } from './tensor-reader.ts';
import { writeTensorData } from './tensor-writer.ts';
import { JsonWriter } from './writer.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function read(datatype: Datatype, shape: number[], text: string): Uint8Array {
  const reader = new JsonReader(encoder.encode(text));
  const data = readTensorData(reader, { name: 'x', datatype, shape }, { acceptsHalfPrecision: true });
  reader.expectEnd();
  return data;
}

function elements<T extends Datatype>(datatype: T, shape: number[], text: string) {
  return elementsOf({ datatype, data: read(datatype, shape, text) });
}

function refusalOf(datatype: Datatype, shape: number[], text: string): string {
  try {
    read(datatype, shape, text);
  } catch (error) {
    expect(error).toBeInstanceOf(InferenceError);
    expect((error as InferenceError).code).toBe('invalid-request');
    return (error as InferenceError).message;
  }
  throw new Error(`accepted ${text}`);
}

function write(datatype: Datatype, data: Uint8Array): string {
  const writer = new JsonWriter();
  writeTensorData(writer, { name: 'y', datatype, shape: [], data });
  return decoder.decode(writer.take());
}

const bytesOf = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

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
        const quoted = outside > 10n ** 30n ? `1${'0'.repeat(39)}…` : `${outside}`;
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
        const data = bytesOf(BigInt64Array.from(values));
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
      fc.property(fc.array(anyBits32, { minLength: 50, maxLength: 50 }), (words) => {
        const values = new Float32Array(Uint32Array.from(words).buffer);
        const text = write('FP32', bytesOf(values));
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
    for (const [value, text] of cases) expect(write('FP32', bytesOf(Float32Array.of(value)))).toBe(`[${text}]`);
  });

  test('no FP32 near a power of two or of ten loses its neighbour', () => {
    const word = new Uint32Array(1);
    const single = new Float32Array(word.buffer);
    const words: number[] = [];
    for (let exponent = 0; exponent < 255; exponent += 1) {
      for (let offset = -3; offset <= 3; offset += 1) words.push(Math.max(0, exponent * 2 ** 23 + offset));
    }
    for (let power = -45; power <= 38; power += 1) {
      single[0] = Number(`1e${power}`);
      for (let offset = -3; offset <= 3; offset += 1) words.push(Math.max(0, (word[0] as number) + offset));
    }
    const values = new Float32Array(Uint32Array.from(words).buffer);
    expect(elements('FP32', [values.length], write('FP32', bytesOf(values)))).toEqual(values);
  });

  test('FP64 survives the round trip bit for bit', () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { minLength: 20, maxLength: 20 }), (list) => {
        const values = Float64Array.from(list);
        expect(elements('FP64', [20], write('FP64', bytesOf(values)))).toEqual(values);
      }),
      { seed: 23, numRuns: 500 },
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
    expect(write('FP64', bytesOf(edges))).toBe(
      '[0.0,-0.0,5e-324,1.7976931348623157e+308,-1.7976931348623157e+308,0.1,1e+21,9007199254740992.0,10000000.0,123456789.0]',
    );
    expect(elements('FP64', [edges.length], write('FP64', bytesOf(edges)))).toEqual(edges);
  });

  for (const [datatype, decode, infinity] of [
    ['FP16', numberFromFp16, 0x7c00],
    ['BF16', numberFromBf16, 0x7f80],
  ] as const) {
    test(`all 65,536 values of ${datatype} survive the round trip`, () => {
      const bits = Uint16Array.from({ length: 0x10000 }, (_, index) => index);
      const back = elements(datatype, [0x10000], write(datatype, bytesOf(bits)));
      const isNaN16 = (value: number) => (value & 0x7fff) > infinity;
      expect(
        bits.every((value, index) => (isNaN16(value) ? isNaN16(back[index] as number) : back[index] === value)),
      ).toBe(true);
      expect(write(datatype, bytesOf(bits.subarray(1, 2)))).toBe(datatype === 'FP16' ? '[6e-8]' : '[9e-41]');
      expect(decode(back[infinity] as number)).toBe(Number.POSITIVE_INFINITY);
    });
  }

  test('16-bit floats are written in few digits and rounded once when read', () => {
    expect(write('FP16', bytesOf(Uint16Array.of(fp16From(0.1), fp16From(65504))))).toBe('[0.1,65504.0]');
    expect(write('BF16', bytesOf(Uint16Array.of(bf16From(0.1), bf16From(3e38))))).toMatch(/^\[0.1,3e38\]$/);
    // Just above the middle of two FP16: rounding to FP32 first would make it the middle, and then the even one.
    expect(elements('FP16', [1], '[1.00048828125000001]')[0]).toBe(fp16From(1));
    expect(elements('FP16', [1], '[1.0004882812501]')[0]).toBe(fp16From(1) + 1);
  });

  test('what does not fit is refused, and the words for infinity are taken', () => {
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
      { seed: 24, numRuns: 3000 },
    );
  });

  test('16-bit floats are refused unless asked for, in the words that clients of Triton know', () => {
    const reader = new JsonReader(encoder.encode('[1]'));
    expect(() => readTensorData(reader, { name: 'in', datatype: 'FP16', shape: [1] })).toThrow(
      'receiving FP16 data via JSON is not supported. Please use the binary data format for input in',
    );
  });
});

describe('booleans and texts', () => {
  test('BOOL takes true and false only', () => {
    expect(read('BOOL', [3], '[true,false , true]')).toEqual(Uint8Array.of(1, 0, 1));
    expect(write('BOOL', Uint8Array.of(1, 0, 2))).toBe('[true,false,true]');
    expect(refusalOf('BOOL', [2], '[true,1]')).toBe("element 1 of input 'x' is a number; BOOL takes true and false");
    expect(refusalOf('BOOL', [1], '["true"]')).toBe("element 0 of input 'x' is a string; BOOL takes true and false");
    expect(refusalOf('BOOL', [1], '[trux]')).toMatch(/expected true or false/);
  });

  test('BYTES survive the round trip, also when they outgrow what was reserved', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 200 }), { maxLength: 20 }), (texts) => {
        const data = encodeBytesElements(texts);
        expect(read('BYTES', [texts.length], JSON.stringify(texts))).toEqual(data);
        expect(JSON.parse(write('BYTES', data))).toEqual(texts);
      }),
      { seed: 25, numRuns: 500 },
    );
    const large = ['a'.repeat(100_000), '\\"\n'.repeat(30_000), 'é'.repeat(5)];
    expect(read('BYTES', [3], JSON.stringify(large))).toEqual(encodeBytesElements(large));
    expect(write('BYTES', encodeBytesElements(large))).toBe(JSON.stringify(large));
  });

  test('BYTES that are not UTF-8 are refused by name, in both directions', () => {
    const data = encodeBytesElements(['fine', Uint8Array.of(0x61, 0xff)]);
    expect(() => write('BYTES', data)).toThrow(
      "element 1 of output 'y' is not valid UTF-8 and cannot be written as JSON; request this output with the parameter binary_data: true",
    );
    expect(refusalOf('BYTES', [1], '["\\udead"]')).toMatch(/lone surrogate/);
    const bytes = Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d);
    expect(() => readTensorData(new JsonReader(bytes), { name: 'x', datatype: 'BYTES', shape: [1] })).toThrow(
      /byte 2\): a string is not valid UTF-8/,
    );
    expect(refusalOf('BYTES', [1], '[1]')).toBe("element 0 of input 'x' is a number; BYTES takes strings");
  });

  test('a writer that failed in the middle is good again once its text is discarded', () => {
    const writer = new JsonWriter();
    writer.beginArray();
    expect(() =>
      writeTensorData(writer, {
        name: 'y',
        datatype: 'BYTES',
        shape: [1],
        data: encodeBytesElements([Uint8Array.of(0xff)]),
      }),
    ).toThrow();
    writer.discard();
    writer.number(1);
    expect(decoder.decode(writer.take())).toBe('1');
  });
});

describe('shapes', () => {
  test('data is flat or nested as the shape says', () => {
    const expected = Int8Array.of(1, 2, 3, 4, 5, 6);
    for (const [shape, text] of [
      [[2, 3], '[1,2,3,4,5,6]'],
      [[2, 3], ' [ [1,2,3] , [4,5,6] ] '],
      [[3, 1, 2], '[[[1,2]],[[3,4]],[[5,6]]]'],
      [[6], '[1,2,3,4,5,6]'],
      [[1, 6], '[[1,2,3,4,5,6]]'],
      [[6, 1], '[[1],[2],[3],[4],[5],[6]]'],
    ] as const) {
      expect(elements('INT8', [...shape], text)).toEqual(expected);
    }
    expect(takeBytesElements(read('BYTES', [2, 1], '[["a"],["b"]]'))).toHaveLength(2);
    expect(elements('FP64', [], '[5]')).toEqual(Float64Array.of(5));
  });

  test('shapes without elements take empty arrays', () => {
    for (const datatype of Object.keys(datatypes) as Datatype[]) {
      expect(read(datatype, [0], '[]').length).toBe(0);
      expect(read(datatype, [2, 0], '[[],[]]').length).toBe(0);
      expect(read(datatype, [2, 0], '[]').length).toBe(0);
      expect(read(datatype, [0, 2], '[ ]').length).toBe(0);
      expect(write(datatype, new Uint8Array(0))).toBe('[]');
    }
    expect(refusalOf('FP32', [0], '[1]')).toBe("the data of input 'x' has more than 0 elements; shape [0] takes 0");
  });

  test('every way the data can contradict the shape is told apart', () => {
    const cases: [number[], string, string][] = [
      [[3], '[1,2]', "the data of input 'x' has 2 elements; shape [3] takes 3"],
      [[3], '[1,2,3,4]', "the data of input 'x' has more than 3 elements; shape [3] takes 3"],
      [[2, 2], '[1,2,3]', "the data of input 'x' has 3 elements; shape [2,2] takes 4"],
      [
        [2, 2],
        '[[1,2],[3]]',
        "the array of dimension 1 from element 2 in the data of input 'x' has 1 elements; shape [2,2] takes 2",
      ],
      [
        [2, 2],
        '[[1,2],[3,4,5]]',
        "the array of dimension 1 from element 2 in the data of input 'x' has more than 2 elements; shape [2,2] takes 2",
      ],
      [
        [2, 2],
        '[[1,2]]',
        "the array of dimension 0 from element 0 in the data of input 'x' has 1 elements; shape [2,2] takes 2",
      ],
      [
        [2, 2],
        '[[1,2],[3,4],[5,6]]',
        "the array of dimension 0 from element 0 in the data of input 'x' has more than 2 elements; shape [2,2] takes 2",
      ],
      [
        [2, 2],
        '[[1,2],3,4]',
        "element 2 of input 'x' is a number where the nesting of its data does not allow one; data must be flat or nested exactly as shape [2,2]",
      ],
      [
        [2, 2],
        '[1,[2,3],4]',
        "element 1 of input 'x' is an array where the nesting of its data does not allow one; data must be flat or nested exactly as shape [2,2]",
      ],
      [
        [2, 2],
        '[[1,2],[3,[4]]]',
        "element 3 of input 'x' is an array where the nesting of its data does not allow one; data must be flat or nested exactly as shape [2,2]",
      ],
      [
        [3],
        '[[1,2,3]]',
        "element 0 of input 'x' is an array where the nesting of its data does not allow one; data must be flat or nested exactly as shape [3]",
      ],
      [
        [4],
        '[1,2,3,4,[5]]',
        "element 4 of input 'x' is an array where the nesting of its data does not allow one; data must be flat or nested exactly as shape [4]",
      ],
      [[1], '5', "the data of input 'x' is a number; it must be an array"],
      [[1], '{}', "the data of input 'x' is an object; it must be an array"],
      [[1], 'null', "the data of input 'x' is null; it must be an array"],
      [[1], '[null]', "element 0 of input 'x' is null; FP32 takes numbers"],
      [[2], '[1,"2"]', "element 1 of input 'x' is a string; FP32 takes numbers"],
      [[-1], '[1]', "input 'x': dimension 0 of shape [-1] is negative; send the actual size"],
    ];
    for (const [shape, text, problem] of cases) expect(refusalOf('FP32', shape, text)).toBe(problem);
  });

  test('a shape that the text cannot fill is refused before anything is allocated for it', () => {
    expect(refusalOf('FP64', [2 ** 50], '[1]')).toMatch(/more elements than the text can hold/);
    expect(refusalOf('BYTES', [2 ** 50], '["a"]')).toMatch(/more elements than the text can hold/);
    expect(elements('UINT8', [4], '[1,2,3,4]').length).toBe(4);
  });

  test('bad text inside the data is refused with its place', () => {
    expect(refusalOf('FP32', [3], '[1,2,]')).toBe(
      "JSON at line 1, column 6 (byte 5): expected a value after ',', found ']'",
    );
    expect(refusalOf('FP32', [3], '[1,,2]')).toMatch(/byte 3\): expected a value, found ','/);
    expect(refusalOf('FP32', [3], '[1 2]')).toMatch(/expected ',' or ']' after an element/);
    expect(refusalOf('FP32', [2], '[01,2]')).toMatch(/needless zero/);
    expect(refusalOf('FP32', [2], '[.5,2]')).toMatch(/byte 1\): expected a value/);
    expect(refusalOf('FP32', [2], '[+1,2]')).toMatch(/byte 1\): expected a value/);
    expect(refusalOf('FP32', [2], '[Nan,2]')).toMatch(/byte 1\): the only number that begins with 'N' is NaN/);
  });

  test('data cut at any byte is refused', () => {
    const text = '[[1,-2.5e1],[3,NaN]]';
    for (let length = 0; length < text.length; length += 1) {
      expect(() => read('FP32', [2, 2], text.slice(0, length))).toThrow(InferenceError);
    }
  });
});

test('what was handed out earlier stays intact while reader and writer go on', () => {
  const body = encoder.encode('[[1,2,3],["a","bc"]]');
  const reader = new JsonReader(body);
  reader.beginArray();
  reader.nextElement();
  const numbers = readTensorData(reader, { name: 'n', datatype: 'INT32', shape: [3] });
  reader.nextElement();
  const texts = readTensorData(reader, { name: 't', datatype: 'BYTES', shape: [2] });
  body.fill(0);
  expect(new Int32Array(numbers.buffer, numbers.byteOffset, 3)).toEqual(Int32Array.of(1, 2, 3));
  expect(texts).toEqual(encodeBytesElements(['a', 'bc']));

  const writer = new JsonWriter(64);
  const taken: Uint8Array[] = [];
  for (let round = 0; round < 50; round += 1) {
    writeTensorData(writer, {
      name: 'y',
      datatype: 'INT32',
      shape: [3],
      data: bytesOf(Int32Array.of(round, -round, 7)),
    });
    taken.push(writer.take());
  }
  for (const [round, bytes] of taken.entries())
    expect(decoder.decode(bytes)).toBe(`[${round},${round === 0 ? 0 : -round},7]`);
});
