import { encodeBytesElements, type Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { doAtOnce } from '../../slices/slice-queue.ts';
import { isLongResult, resultBytesMax, resultElementsMax, resultJsonOf } from './result-json.ts';

const floats = (name: string, shape: readonly number[], ...values: number[]): Tensor => ({
  name,
  datatype: 'FP32',
  shape,
  data: new Uint8Array(new Float32Array(values).buffer),
});
const texts = (name: string, shape: readonly number[], ...values: (string | Uint8Array)[]): Tensor => ({
  name,
  datatype: 'BYTES',
  shape,
  data: encodeBytesElements(values),
});
const plain = { isBatched: false, labels: new Map() };
const json = (outputs: readonly Tensor[], view: Parameters<typeof resultJsonOf>[1] = plain, more = {}) =>
  doAtOnce(resultJsonOf(outputs, view, more));

test('outputs stand by name, in lists as their shapes say, single ones without a list', () => {
  expect(json([floats('a', [2, 2], 1, 2.5, -0, 4), texts('b', [1], 'x "y"'), floats('c', [1, 1], 0.1)])).toBe(
    '{"a":[[1.0,2.5],[-0.0,4.0]],"b":"x \\"y\\"","c":0.1}',
  );
  const long: Tensor = {
    name: 'n',
    datatype: 'INT64',
    shape: [2],
    data: new Uint8Array(new BigInt64Array([2n ** 60n, -1n]).buffer),
  };
  expect(json([long, { name: 'f', datatype: 'BOOL', shape: [2], data: Uint8Array.of(1, 0) }])).toBe(
    '{"n":[1152921504606846976,-1],"f":[true,false]}',
  );
});

test('one row of a batch has no list around it, several have', () => {
  const view = { isBatched: true, labels: new Map() };
  expect(json([floats('a', [1, 2], 1, 2)], view)).toBe('{"a":[1.0,2.0]}');
  expect(json([floats('a', [2, 2], 1, 2, 3, 4)], view)).toBe('{"a":[[1.0,2.0],[3.0,4.0]]}');
});

test('what JSON has no form for is text: numbers that are none, and bytes as base64', () => {
  const values = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  expect(json([floats('a', [3], ...values), texts('b', [2], 'x', Uint8Array.of(0, 255))])).toBe(
    '{"a":["NaN","Infinity","-Infinity"],"b":["x",{"b64":"AP8="}]}',
  );
  expect(json([floats('a', [0, 4])])).toBe('{"a":[]}');
});

test('values of an output with labels stand under probabilities too', () => {
  const labels = new Map([['scores', ['cat', 'dog']]]);
  expect(json([floats('scores', [1, 2], 0.25, 0.75)], { isBatched: true, labels })).toBe(
    '{"scores":[0.25,0.75],"probabilities":{"cat":0.25,"dog":0.75}}',
  );
  expect(json([floats('scores', [2, 2], 0.25, 0.75, 1, 0)], { isBatched: true, labels })).toBe(
    '{"scores":[[0.25,0.75],[1.0,0.0]],"probabilities":[{"cat":0.25,"dog":0.75},{"cat":1.0,"dog":0.0}]}',
  );
  const own = new Map([['probabilities', ['cat', 'cat']]]);
  expect(json([floats('probabilities', [3], 0.25, 0.5, 0.25)], { isBatched: false, labels: own })).toBe(
    '{"probabilities":{"cat":0.25,"cat#1":0.5,"2":0.25}}',
  );
  const both = new Map([...labels, ['kinds', ['a']]]);
  expect(json([floats('scores', [2], 0.25, 0.75), floats('kinds', [1], 1)], { isBatched: false, labels: both })).toBe(
    '{"scores":[0.25,0.75],"kinds":1.0,"probabilities":{"scores":{"cat":0.25,"dog":0.75},"kinds":{"a":1.0}}}',
  );
  // An output of that name without labels stays what it is.
  expect(json([floats('scores', [2], 0.25, 0.75), floats('probabilities', [1], 9)], { isBatched: false, labels })).toBe(
    '{"scores":[0.25,0.75],"probabilities":9.0}',
  );
});

test('rows without elements are an empty list, however many rows there are', () => {
  const view = { isBatched: true, labels: new Map([['scores', ['cat', 'dog']]]) };
  expect(json([floats('scores', [2 ** 40, 0])], view)).toBe('{"scores":[],"probabilities":[]}');
  expect(json([floats('scores', [1, 0])], view)).toBe('{"scores":[],"probabilities":{}}');
});

test('members of the server stand behind the outputs', () => {
  expect(json([floats('a', [1], 1)], plain, { millrace: '{"sequence":3}' })).toBe(
    '{"a":1.0,"millrace":{"sequence":3}}',
  );
});

test('large outputs are written in slices, and refused beyond the limits', () => {
  const many = floats('a', [100, 100], ...Array.from({ length: 10_000 }, (_, index) => index));
  expect(isLongResult([many])).toBe(true);
  const work = resultJsonOf([many], plain);
  let slices = 0;
  let text = '';
  for (;;) {
    const { done, value } = work.next();
    slices += 1;
    if (done === true) {
      text = value;
      break;
    }
  }
  expect(slices).toBeGreaterThan(4);
  expect((JSON.parse(text) as { a: number[][] }).a[99]?.[99]).toBe(9999);
  const count = resultElementsMax + 1;
  const elements: Tensor = { name: 'a', datatype: 'UINT8', shape: [count], data: new Uint8Array(count) };
  expect(() => json([elements])).toThrow(/262145 elements and 262145 bytes, more than the 262144 elements/);
  const bytes = texts('b', [1], new Uint8Array(resultBytesMax));
  expect(() => json([bytes])).toThrow(/more than .* 16777216 bytes that go into JSON; .* call ModelInfer/);
});
