/** Reading in slices against reading at once, and against JSON.parse. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeBytesElements } from '../bytes-elements.ts';
import type { Datatype } from '../datatypes.ts';
import { LongValues, longValueBytesMin } from './long-values.ts';
import { JsonReader, jsonDepthMax, jsonSpaceBytesMax } from './reader.ts';
import { beginTensorData, continueTensorData, readTensorData } from './tensor-reader.ts';

const encoder = new TextEncoder();

/** Reads data with a pause after every `stepBytes`; the bytes that each step passed are added to `steps`. */
function readInSteps(text: string, datatype: Datatype, count: number, stepBytes: number, steps: number[] = []) {
  const reader = new JsonReader(encoder.encode(text));
  const target = beginTensorData(reader, { name: 'x', datatype, shape: [count] });
  for (let isDone = false; !isDone; ) {
    const start = reader.position;
    isDone = continueTensorData(target, start + stepBytes);
    steps.push(reader.position - start);
  }
  reader.expectEnd();
  return target.take();
}

const readAtOnce = (text: string, datatype: Datatype, count: number): Uint8Array =>
  readTensorData(new JsonReader(encoder.encode(text)), { name: 'x', datatype, shape: [count] });

function outcomeOf(read: () => Uint8Array): string {
  try {
    return Buffer.from(read()).toString('hex');
  } catch (error) {
    return (error as Error).message;
  }
}

/** An array of elements, nested at will, with white space at will. */
function nested(element: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const space = fc.constantFrom('', '', '', ' ', '\n\t ');
  return fc.letrec<{ array: string; value: string }>((tie) => ({
    array: fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 6 })
      .map((values) => `[${values.map((parts) => parts.join('')).join(',')}]`),
    value: fc.oneof({ maxDepth: 4, depthSize: 'small' }, element, tie('array')),
  })).array;
}

const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
  fc.constantFrom('NaN', '-Infinity', '1e-310', '0.1234567890123456789012345', '"x"', 'true', '1e999', '-'),
);
const string = fc
  .string({ unit: 'binary', maxLength: 20 })
  .map((text) => JSON.stringify(text))
  .map((text) => text.replaceAll('/', '\\/'));

/** Most of them valid. */
const base64Element = fc
  .tuple(fc.uint8Array({ maxLength: 30 }), fc.constantFrom('', '', '', '=', 'A', '-'))
  .map(([bytes, more]) => `{"b64":"${Buffer.from(bytes).toString('base64')}${more}"}`);

describe('a tensor read in steps of every size', () => {
  test.each([
    ['FP32', number],
    ['FP64', number],
    ['INT64', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)],
    ['UINT8', fc.integer({ min: -1, max: 256 }).map(String)],
    ['BOOL', fc.constantFrom('true', 'false', '1')],
    ['BYTES', fc.oneof(string, base64Element)],
  ] as const)('is the same as read at once, refusals included: %s', (datatype, element) => {
    const parts = fc.tuple(nested(element), fc.integer({ min: 0, max: 12 }), fc.integer({ min: 1, max: 40 }));
    fc.assert(
      fc.property(parts, ([text, count, stepBytes]) => {
        const sliced = outcomeOf(() => readInSteps(text, datatype, count, stepBytes));
        expect(sliced).toBe(outcomeOf(() => readAtOnce(text, datatype, count)));
      }),
      { seed: 12, numRuns: 400 },
    );
  });

  test('has the elements that JSON.parse finds, whatever the nesting', () => {
    const doubles = fc.oneof(fc.integer().map(String), fc.double({ noDefaultInfinity: true, noNaN: true }).map(String));
    fc.assert(
      fc.property(nested(doubles), fc.integer({ min: 1, max: 50 }), (text, stepBytes) => {
        const expected = (JSON.parse(text) as unknown[]).flat(Number.POSITIVE_INFINITY) as number[];
        const data = readInSteps(text, 'FP64', expected.length, stepBytes);
        expect([...new Float64Array(data.buffer, data.byteOffset, expected.length)]).toEqual(expected);
      }),
      { seed: 13, numRuns: 400 },
    );
    fc.assert(
      fc.property(nested(string), fc.integer({ min: 1, max: 50 }), (text, stepBytes) => {
        const expected = (JSON.parse(text) as unknown[]).flat(Number.POSITIVE_INFINITY) as string[];
        const data = readInSteps(text, 'BYTES', expected.length, stepBytes);
        expect(Buffer.compare(data, encodeBytesElements(expected))).toBe(0);
      }),
      { seed: 14, numRuns: 400 },
    );
  });

  test.each([
    ['numbers', 'FP32', `[${Array(50_000).fill('0.5').join()}]`, 50_000],
    [
      'numbers of many digits',
      'FP64',
      `[${Array(200)
        .fill(`0.${'3'.repeat(1000)}`)
        .join()}]`,
      200,
    ],
    ['one long text', 'BYTES', JSON.stringify(['é"'.repeat(100_000)]), 1],
    ['one long base64', 'BYTES', `[{"b64":"${Buffer.alloc(150_000, 7).toString('base64')}"}]`, 1],
    ['empty arrays after the last element', 'FP32', `[1${',[]'.repeat(60_000)}]`, 1],
    ['arrays of one', 'FP32', `[${Array(50_000).fill('[1]').join()}]`, 50_000],
    [
      'white space',
      'FP32',
      `[${Array(20)
        .fill(`1${' '.repeat(10_000)}`)
        .join()}]`,
      20,
    ],
  ] as const)('passes no more than a step and one element at a time: %s', (_, datatype, text, count) => {
    const steps: number[] = [];
    const stepBytes = 8192;
    readInSteps(text, datatype, count, stepBytes, steps);
    // The longest element here is a number between two runs of white space.
    const elementBytes = 20_100;
    expect(Math.max(...steps)).toBeLessThanOrEqual(stepBytes + elementBytes);
    expect(steps.length).toBeGreaterThanOrEqual(Math.floor(text.length / (stepBytes + elementBytes)));
  });
});

describe('long values', () => {
  /** The spans of long arrays, objects and strings, found by reading. */
  function expectedEnds(bytes: Uint8Array): Map<number, number> {
    const ends = new Map<number, number>();
    const reader = new JsonReader(bytes);
    const pass = (depth: number): void => {
      const kind = reader.peekKind();
      const start = reader.position;
      if (kind === 'array') {
        reader.beginArray();
        while (reader.nextElement()) pass(depth + 1);
      } else if (kind === 'object') {
        reader.beginObject();
        while (reader.nextKey() !== undefined) pass(depth + 1);
      } else reader.skipValue();
      const isFound = kind === 'string' || ((kind === 'array' || kind === 'object') && depth < 6);
      if (isFound && reader.position - start > longValueBytesMin) ends.set(start, reader.position);
    };
    pass(0);
    return ends;
  }

  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, depthSize: 'medium' },
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({ maxLength: 10 }).map((text) => text.padEnd(longValueBytesMin + 7, '"\\]{')),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.string({ maxLength: 5 }), tie('value'), { maxKeys: 4 }),
      fc.constant(Array(700).fill([1.5, '['])),
    ),
  })).value;

  test('are those that reading finds, at every alignment and in steps of every size', () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 0, max: 3 }), fc.integer({ min: 1, max: 9000 }), (json, offset, step) => {
        const text = encoder.encode(JSON.stringify(json));
        const memory = new Uint8Array(text.length + offset);
        memory.set(text, offset);
        const bytes = memory.subarray(offset);
        const longValues = new LongValues(bytes);
        while (!longValues.step(step));
        const expected = expectedEnds(bytes);
        const found = new Map<number, number>();
        for (let start = 0; start < bytes.length; start += 1) {
          const end = longValues.endOf(start);
          if (end !== undefined) found.set(start, end);
        }
        expect([...found]).toEqual([...expected].sort(([a], [b]) => a - b));
      }),
      { seed: 15, numRuns: 60 },
    );
  });

  test.each([
    ['[1,2', /not closed/],
    ['{"a":[1,2]', /not closed/],
    ['["abc', /no closing quote/],
    ['["abc\\"]', /no closing quote/],
    ['['.repeat(jsonDepthMax + 1), /nested more than 100 deep/],
  ])('of %j are refused', (text, problem) => {
    expect(() => new LongValues(encoder.encode(text)).step(1000)).toThrow(problem);
  });

  test('end where something is closed that was never opened, which reading refuses', () => {
    const bytes = encoder.encode(']'.repeat(100));
    expect(new LongValues(bytes).step(10)).toBe(true);
    expect(() => new JsonReader(bytes).skipValue()).toThrow(/expected a value/);
  });
});

describe('limits of a reader', () => {
  const limits = { keysMax: 3, keyBytesMax: 5, headBytesMax: 200 };
  const skip = (text: string): void => new JsonReader(encoder.encode(text), undefined, limits).skipValue();

  test('hold for keys, their length and everything that is read at once', () => {
    skip('{"a":1,"b":2,"c":3}');
    expect(() => skip('{"a":1,"b":2,"c":3,"d":4}')).toThrow(/an object has more than 3 keys/);
    skip('{"12345":1}');
    expect(() => skip('{"123456":1}')).toThrow(/a key has more than 5 bytes/);
    expect(() => skip(`{"a":"${'x'.repeat(201)}"}`)).toThrow(/a string has more than 200 bytes/);
    expect(() => skip(`[${Array(300).fill(1).join()}]`)).toThrow(/more than 200 bytes beside the data of tensors/);
    expect(() => skip(`{"a":[${Array(90).fill(1).join()}],"b":[${Array(90).fill(1).join()}]}`)).toThrow(
      /more than 200 bytes beside the data of tensors/,
    );
  });

  test('are of the code request-too-large', () => {
    expect(() => skip('{"123456":1}')).toThrow(expect.objectContaining({ code: 'request-too-large' }) as Error);
  });

  test('do not count what is passed as a long value', () => {
    const bytes = encoder.encode(`{"data":[${Array(5000).fill(1).join()}],"b":1}`);
    const longValues = new LongValues(bytes);
    longValues.step(bytes.length);
    const reader = new JsonReader(bytes, undefined, limits, longValues);
    reader.beginObject();
    expect(reader.nextKey()).toBe('data');
    expect(reader.takeLong()).toEqual({ start: 8, end: 8 + 10_001, depth: 1 });
    expect(reader.nextKey()).toBe('b');
    expect(reader.takeLong()).toBeUndefined();
    reader.skipValue();
    expect(reader.nextKey()).toBeUndefined();
  });

  test('hold for white space in every reader', () => {
    const spaced = (bytes: number): void => new JsonReader(encoder.encode(`[1,${' '.repeat(bytes)}2]`)).skipValue();
    spaced(jsonSpaceBytesMax);
    expect(() => spaced(jsonSpaceBytesMax + 1)).toThrow(/more than 65536 bytes of white space/);
  });

  test('keep the position of an error cheap to find: lines are counted in the first 64 KiB only', () => {
    const refusal = (newlines: number): string => {
      try {
        new JsonReader(encoder.encode(`[${'1,\n'.repeat(newlines)}x]`)).skipValue();
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    expect(refusal(100)).toContain('JSON at line 101, column 1 (byte 301)');
    expect(refusal(100_000)).toContain('JSON at byte 300001: expected a value');
  });
});
