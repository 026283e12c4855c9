import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeBytesElements, takeBytesElements } from '../bytes-elements.ts';
import { type Datatype, datatypes } from '../datatypes.ts';
import { InferenceError } from '../errors.ts';
import { JsonReader, jsonDepthMax } from './reader.ts';
import { readTensorData } from './tensor-reader.ts';
import { writeTensorData } from './tensor-writer.ts';
import { arrayBytes, elements, read, refusalOf, write } from './testing/tensor-text.ts';
import { JsonWriter } from './writer.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

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
      { seed: 25, numRuns: 60 },
    );
    const large = ['a'.repeat(100_000), '\\"\n'.repeat(30_000), 'é'.repeat(5)];
    const data = read('BYTES', [3], JSON.stringify(large));
    expect(data.length).toBe(encodeBytesElements(large).length);
    expect(encodeBytesElements(large).every((byte, index) => data[index] === byte)).toBe(true);
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

  test('BYTES take {"b64": "…"} for what is not text, among texts, also with escapes and white space', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }), (elements) => {
        const text = elements.map((bytes) => `{ "b64" :${JSON.stringify(Buffer.from(bytes).toString('base64'))} }`);
        const mixed = `["",${text.map((one) => one.replaceAll('/', '\\/')).join()}${text.length > 0 ? ',' : ''}"é"]`;
        expect(read('BYTES', [elements.length + 2], mixed)).toEqual(encodeBytesElements(['', ...elements, 'é']));
      }),
      { seed: 26, numRuns: 100 },
    );
  });

  test.each([
    ['{"b64": "AAA"}', /^element 0 of input 'x' is not base64; write it with the characters A-Z/],
    ['{"b64": "AA-_"}', /is not base64/],
    ['{"b64": "AA==AAAA"}', /is not base64/],
    ['{"b64": "A==="}', /is not base64/],
    ['{"b64": "é"}', /is not base64/],
    ['{"b64": "AAAA\\n"}', /is not base64/],
    ['{"b64": 1}', /is an object; BYTES takes strings, and bytes that are not text as {"b64": "…"}/],
    ['{}', /is an object/],
    ['{"base64": "AAAA"}', /is an object/],
    ['{"b64": "AAAA", "more": 1}', /is an object; .* with nothing beside it/],
  ])('an element %s is refused with %s', (element, message) => {
    expect(refusalOf('BYTES', [1], `[${element}]`)).toMatch(message);
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

const wrongCount = (found: string, shape: string, count: number): string =>
  `Unable to parse 'data': Shape does not match true shape of 'data' field: input 'x' has ${found} elements; ` +
  `shape ${shape} takes ${count}`;

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
    expect(refusalOf('FP32', [0], '[1]')).toBe(wrongCount('more than 0', '[0]', 0));
  });

  test('Triton: data nested otherwise than by shape is flattened', () => {
    const expected = Int8Array.of(1, 2, 3, 4);
    for (const text of [
      '[[1],[2,3,4]]',
      '[[1,2],3,4]',
      '[1,[2,3],4]',
      '[1,2,[3,[4]]]',
      '[[[[1,2,3,4]]]]',
      ' [ [ ] , [ 1 , 2 ] , [ [ ] , [ 3 ] ] , 4 , [ ] ] ',
    ]) {
      expect(elements('INT8', [2, 2], text)).toEqual(expected);
      expect(elements('INT8', [4], text)).toEqual(expected);
    }
    expect(takeBytesElements(read('BYTES', [3], '[["a",["b"]],"c"]'))).toHaveLength(3);
    expect(read('BOOL', [2], '[[true],false]')).toEqual(Uint8Array.of(1, 0));
  });

  test('the elements of any nesting come in the order of the text', () => {
    const nesting = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof({ maxDepth: 6 }, fc.integer({ min: -1000, max: 1000 }), fc.array(tie('value'), { maxLength: 4 })),
    })).value;
    fc.assert(
      fc.property(fc.array(nesting, { maxLength: 6 }), (data) => {
        const leaves = data.flat(Number.POSITIVE_INFINITY) as number[];
        const text = JSON.stringify(data);
        expect(elements('INT32', [leaves.length], text)).toEqual(Int32Array.from(leaves));
        expect(refusalOf('INT32', [leaves.length + 1], text)).toMatch(/true shape|too short for/);
        if (leaves.length > 0) expect(refusalOf('INT32', [leaves.length - 1], text)).toMatch(/true shape/);
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  test('data may be nested as deep as JSON may be, and no deeper', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}7${']'.repeat(depth)}`;
    expect(elements('INT8', [1], nested(jsonDepthMax))).toEqual(Int8Array.of(7));
    expect(refusalOf('INT8', [1], nested(jsonDepthMax + 1))).toMatch(/nested more than 100 deep/);
    expect(refusalOf('INT8', [1], nested(100_000))).toMatch(/nested more than 100 deep/);
  });

  test('Triton: data with another number of elements than the shape is refused', () => {
    const cases: [number[], string, string][] = [
      [[3], '[1,2]', wrongCount('2', '[3]', 3)],
      [[3], '[1,2,3,4]', wrongCount('more than 3', '[3]', 3)],
      [[2, 2], '[1,2,3]', wrongCount('3', '[2,2]', 4)],
      [[2, 2], '[[1,2],[3]]', wrongCount('3', '[2,2]', 4)],
      [[2, 2], '[[1,2],[3,4,5]]', wrongCount('more than 4', '[2,2]', 4)],
      [[2, 2], '[[1,2]]', wrongCount('2', '[2,2]', 4)],
      [[2, 2], '[[1,2],[3,4],[5,6]]', wrongCount('more than 4', '[2,2]', 4)],
      [[4], '[1,2,3,4,[5]]', wrongCount('more than 4', '[4]', 4)],
      [[1], '[[]]', wrongCount('0', '[1]', 1)],
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
    expect(refusalOf('FP64', [2 ** 50], '[1]')).toMatch(/too short for 1125899906842624 elements/);
    expect(refusalOf('BYTES', [2 ** 50], '["a"]')).toMatch(/too short for 1125899906842624 elements/);
    expect(elements('UINT8', [4], '[1,2,3,4]').length).toBe(4);
  });

  test('malformed text inside the data is refused with its position', () => {
    expect(refusalOf('FP32', [3], '[1,2,]')).toBe(
      "JSON at line 1, column 6 (byte 5): expected a value after ',', found ']'",
    );
    expect(refusalOf('FP32', [3], '[1,,2]')).toMatch(/byte 3\): expected a value, found ','/);
    expect(refusalOf('FP32', [3], '[1 2]')).toMatch(/expected ',' or ']' after an element/);
    expect(refusalOf('FP32', [2], '[[1] [2]]')).toMatch(/expected ',' or ']' after an element/);
    expect(refusalOf('FP32', [2], '[[1],2')).toMatch(/expected ',' or ']' after an element/);
    expect(refusalOf('FP32', [2], '[[1],[2],]')).toMatch(/expected a value after ','/);
    expect(refusalOf('FP32', [2], '[01,2]')).toMatch(/leading zeros/);
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
      data: arrayBytes(Int32Array.of(round, -round, 7)),
    });
    taken.push(writer.take());
  }
  for (const [round, bytes] of taken.entries())
    expect(decoder.decode(bytes)).toBe(`[${round},${round === 0 ? 0 : -round},7]`);
});
