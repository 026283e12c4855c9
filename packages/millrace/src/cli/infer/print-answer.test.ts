import { encodeBytesElements, type Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { paintOf } from '../../terminal.ts';
import { answerJson, answerText } from './print-answer.ts';

const paint = paintOf({ hasColours: false });

function floats(shape: number[], values: number[]): Tensor {
  return { name: 'y', datatype: 'FP32', shape, data: new Uint8Array(Float32Array.from(values).buffer) };
}

function text(...outputs: Tensor[]): string[] {
  return answerText({ model: 'm', version: '', outputs }, 1, paint).trimEnd().split('\n').slice(1);
}

test('numbers are shortened and rows have their position', () => {
  expect(text(floats([2, 1, 2], [1 / 3, -2, 1e-9, 12345678]))).toEqual([
    '  y FP32[2,1,2]',
    '    [0,0] 0.333333, -2',
    '    [1,0] 1e-9, 12345678',
  ]);
});

test('long rows and many rows are cut short', () => {
  const wide = text(floats([1, 14], Array(14).fill(0) as number[]));
  expect(wide[1]).toBe(`    [0] ${Array(12).fill('0').join(', ')}, … 2 more`);
  const tall = text(floats([10, 1], Array(10).fill(0) as number[]));
  expect(tall).toHaveLength(1 + 8 + 1);
  expect(tall.at(-1)).toBe('    … 2 more rows');
});

test('a scalar, an empty tensor and values that are not finite are shown too', () => {
  expect(text(floats([], [7]))).toEqual(['  y FP32[]', '    7']);
  expect(text(floats([0, 3], []))).toEqual(['  y FP32[0,3]', '    (empty)']);
  expect(text(floats([3], [Number.NaN, Infinity, -Infinity]))[1]).toBe('    NaN, Infinity, -Infinity');
});

test('a text of several lines is shown line by line', () => {
  const story: Tensor = {
    name: 'b',
    datatype: 'BYTES',
    shape: [1],
    data: encodeBytesElements(['Once.\n\n"Ah," said \u001b[31m he']),
  };
  expect(text(story)).toEqual(['  b BYTES[1]', '    Once.', '    ', '    "Ah," said \\u001b[31m he']);
});

test('bytes that are text are shown as text, others as base64', () => {
  const named = (data: Uint8Array): Tensor => ({ name: 'b', datatype: 'BYTES', shape: [2], data });
  expect(text(named(encodeBytesElements(['hé', '"']))).at(1)).toBe('    "hé", "\\""');
  const binary = named(encodeBytesElements([Uint8Array.of(0xff, 0xfe), 'ok']));
  expect(text(binary).at(1)).toBe('    {"b64":"//4="}, {"b64":"b2s="}');
  expect(JSON.parse(answerJson({ model: 'm', version: '1', outputs: [binary] }))).toMatchObject({
    outputs: [{ data: [{ b64: '//4=' }, { b64: 'b2s=' }] }],
  });
});
