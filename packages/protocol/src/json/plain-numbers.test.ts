/** The short way reads what the reader of tensors reads, or leaves the text to it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { takePlainSingles } from './plain-numbers.ts';
import { JsonReader } from './reader.ts';
import { readTensorData } from './tensor-reader.ts';

const encoder = new TextEncoder();

function taken(text: string, count: number): { end: number; singles: Float32Array } {
  const bytes = encoder.encode(`<${text}>`);
  const singles = new Float32Array(count);
  return { end: takePlainSingles(bytes, 1, bytes.length - 1, singles) - 1, singles };
}

test('numbers with commas, and a space behind them or none', () => {
  expect(taken('1,-2.5, 3e2,0', 4)).toEqual({ end: 13, singles: Float32Array.of(1, -2.5, 300, 0) });
  expect(taken('-0', 1).singles).toEqual(Float32Array.of(-0));
});

describe('left to the full reader', () => {
  test.each([
    ['too few', '1,2', 3],
    ['nothing', '', 1],
    ['a word', '1,NaN', 2],
    ['infinity', '-Infinity', 1],
    ['more than a single holds', '1e39', 1],
    ['a leading zero', '01', 1],
    ['a point without digits', '1.', 1],
    ['an exponent without digits', '1e', 1],
    ['a plus', '+1', 1],
    ['two spaces', '1,  2', 2],
    ['a space before a comma', '1 ,2', 2],
    ['a line end', '1,\n2', 2],
    ['an array', '[1]', 1],
    ['a string', '"1"', 1],
    ['a word in between', '1,null,2', 3],
    ['two commas', '1,,2', 2],
    ['a comma before', ',1', 1],
  ])('%s', (_, text, count) => {
    expect(taken(text, count).end).toBe(-2);
  });
});

test('what follows the last number is not read', () => {
  expect(taken('1,2,3', 2).end).toBe(3);
  expect(taken('1,2 ', 2).end).toBe(3);
});

test('every number is what the reader of tensors makes of it', () => {
  const number = fc.oneof(
    fc.float({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/),
    fc.stringMatching(/^[-+0-9.eENa]{1,8}$/),
  );
  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 6 }), (numbers) => {
      const text = numbers.join(',');
      const { end, singles } = taken(text, numbers.length);
      let expected: Uint8Array | undefined;
      try {
        const reader = new JsonReader(encoder.encode(`[${text}]`));
        expected = readTensorData(reader, { name: 'x', datatype: 'FP32', shape: [numbers.length] });
        reader.expectEnd();
      } catch {
        expected = undefined;
      }
      if (end !== text.length) return;
      expect(new Uint8Array(singles.buffer)).toEqual(expected);
    }),
    { seed: 110, numRuns: process.env.TEST_LONG === '1' ? 50_000 : 3000 },
  );
});
