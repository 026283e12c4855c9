/** A reader that has read many requests reads each as a new one does, and refuses what a new one refuses. */
import { InferenceError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { resolveRestConfig } from './config.ts';
import { type InferJson, InferJsonReader } from './infer-json.ts';
import { RepeatedShapes, repeatedShapeBytesMax, repeatedShapesMax } from './repeated-shape.ts';

const limits = resolveRestConfig({});
const utf8 = new TextEncoder();

function read(reader: InferJsonReader, text: string | Uint8Array): object {
  const body = typeof text === 'string' ? utf8.encode(text) : text;
  try {
    const { template: _, inputs, ...json } = reader.read(body, body.length);
    return { ...json, inputs: inputs.map(({ tensor }) => tensor) };
  } catch (error) {
    return { refused: (error as InferenceError).message, isExpected: error instanceof InferenceError };
  }
}

const request = (data: string, name = 'x'): string =>
  `{"inputs":[{"name":"${name}","datatype":"FP32","shape":[1,4],"data":[${data}]}]}`;

/** Whether such requests are taken by their shape, after one of them. */
function isTaken(text: string, next = text): boolean {
  const shapes = new RepeatedShapes();
  const body = utf8.encode(text);
  shapes.keep(body, body.length, new InferJsonReader(limits).read(body, body.length));
  const again = utf8.encode(next);
  return shapes.take(again, again.length) !== undefined;
}

test('only the numbers of a repeated request are read', () => {
  expect(isTaken(request('1,2,3,4'), request('-1.5,0,2e3, 4.25'))).toBe(true);
  expect(
    isTaken('{"outputs":[{"name":"y"}],"inputs":[{"shape":[2],"name":"x","datatype":"FP32", "data" : [ 1,2]}]}'),
  ).toBe(false);
  expect(
    isTaken('{"outputs":[{"name":"y"}],"inputs":[{"shape":[2],"name":"x","datatype":"FP32", "data" : [1,2]}]}'),
  ).toBe(true);
});

describe('left to the full reader', () => {
  test.each([
    ['too few numbers', request('1,2,3')],
    ['too many numbers', request('1,2,3,4,5')],
    ['none', request('')],
    ['another name', request('1,2,3,4', 'y')],
    ['nested arrays', request('[1,2],[3,4]')],
    ['a byte behind it', `${request('1,2,3,4')} `],
    ['a byte before it', ` ${request('1,2,3,4')}`],
    ['a byte order mark', `\ufeff${request('1,2,3,4')}`],
    ['NaN', request('1,2,3,NaN')],
    ['a number that is none', request('1,2,3,0x4')],
  ])('%s', (_, next) => {
    expect(isTaken(request('1,2,3,4'), next)).toBe(false);
  });

  test.each([
    ['an id', request('1,2,3,4').replace('{', '{"id":"a",')],
    ['nested data', request('[1,2,3,4]')],
    ['another datatype', request('1,2,3,4').replace('FP32', 'INT32')],
    ['data before its shape', '{"inputs":[{"data":[1,2],"name":"x","datatype":"FP32","shape":[2]}]}'],
    ['two inputs', request('1,2,3,4').replace(']}]}', ']},{"name":"y","datatype":"FP32","shape":[1],"data":[1]}]}')],
    ['no elements', '{"inputs":[{"name":"x","datatype":"FP32","shape":[0],"data":[]}]}'],
    ['long JSON around the data', request('1,2,3,4', 'n'.repeat(repeatedShapeBytesMax))],
  ])('requests with %s are not kept', (_, text) => {
    expect(isTaken(text)).toBe(false);
  });
});

test('JSON of more than its limit is refused, whatever came before it', () => {
  const narrow = { ...limits, jsonHeadBytesMax: 110 };
  const reader = new InferJsonReader(narrow);
  const named = (data: string): string => request(data).replace(/}$/, ',"outputs":[{"name":"y"}]}');
  expect(read(reader, named('1,2,3,4'))).toHaveProperty('inputs');
  const long = named(`1,2,3,4.${'0'.repeat(40)}`);
  expect(read(reader, long)).toEqual(read(new InferJsonReader(narrow), long));
  expect(read(reader, long)).toHaveProperty('refused');
});

test('few shapes are kept, without the bytes of their requests, and the oldest is replaced', () => {
  const shapes = new RepeatedShapes();
  const reader = new InferJsonReader(limits);
  const keep = (name: string): void => {
    const body = utf8.encode(request('1,2,3,4', name));
    shapes.keep(body, body.length, reader.read(body, body.length));
    body.fill(0);
  };
  const take = (name: string): InferJson | undefined => {
    const body = utf8.encode(request('5,6,7,8', name));
    return shapes.take(body, body.length);
  };
  for (let count = 0; count <= repeatedShapesMax; count++) keep(`n${count}`);
  expect(take('n0')).toBeUndefined();
  for (let count = repeatedShapesMax; count > 0; count--) {
    const data = take(`n${count}`)?.inputs[0]?.tensor?.data ?? new Uint8Array(0);
    expect(new Float32Array(new Uint8Array(data).buffer)).toEqual(Float32Array.of(5, 6, 7, 8));
  }
});

test('tensors of two requests are apart', () => {
  const reader = new InferJsonReader(limits);
  read(reader, request('1,2,3,4'));
  const first = reader.read(utf8.encode(request('1,1,1,1')), request('1,1,1,1').length).inputs[0]?.tensor;
  const second = reader.read(utf8.encode(request('2,2,2,2')), request('2,2,2,2').length).inputs[0]?.tensor;
  second?.data.fill(9);
  expect(new Float32Array(first?.data.buffer as ArrayBuffer)).toEqual(Float32Array.of(1, 1, 1, 1));
});

/** xorshift32: the same requests in every run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const bases = [
  request('1,2,3,4'),
  request('0.5,-1e-7, 3.25,1000000'),
  '{"inputs": [{"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [1.0, 2.0, 3.0, 4.0]}], "outputs": [{"name": "y"}]}',
  '{"parameters":{"own":1},"inputs":[{"name":"a]b[","datatype":"FP32","shape":[3],"data":[1,2,3],"parameters":{"p":"]"}}]}',
  '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[7]}],"outputs":[{"name":"z","parameters":{"binary_data":true}}]}',
];
const tokens = [
  ...['[', ']', ',', ':', '"', '{', '}', '-', '.', ' ', '  ', '\n', '\t', '\\u0031', '\ufeff', '\0'],
  ...[
    '1e5',
    '1E+2',
    '1e400',
    'NaN',
    '-Infinity',
    'null',
    'true',
    '"1"',
    '[1]',
    '{}',
    '0',
    '00',
    '1.',
    '.5',
    '99999999999999999999',
  ],
  ...['"data":[1],', '"shape":[1],', '"name":"x",', '],"data":[', '],"data2":['],
];

test('after any requests, mutated ones are read or refused as by a new reader', () => {
  const random = randomFrom(0x5eed110);
  const runs = process.env.TEST_LONG === '1' ? 200_000 : 12_000;
  const used = new InferJsonReader(limits);
  let accepted = 0;
  for (let run = 0; run < runs; run++) {
    let text = bases[random(bases.length)] as string;
    read(used, text);
    for (let times = random(3); times > 0; times--) {
      const at = random(3) === 0 ? random(text.length + 1) : text.indexOf('[', text.indexOf('"data"')) + random(12);
      const to = random(3) === 0 ? Math.min(text.length, at + random(6)) : at;
      const token = random(4) === 0 ? String.fromCharCode(random(128)) : (tokens[random(tokens.length)] as string);
      text = text.slice(0, at) + (random(4) === 0 ? '' : token) + text.slice(to);
    }
    const result = read(used, text);
    expect({ text, result }).toEqual({ text, result: read(new InferJsonReader(limits), text) });
    if (!('refused' in result)) accepted += 1;
    else expect(result).toHaveProperty('isExpected', true);
  }
  expect(accepted).toBeGreaterThan(runs / 5);
  expect(accepted).toBeLessThan((runs * 9) / 10);
}, 60_000);
