import { expect, test } from 'vitest';
import { InferenceError, messageCharactersMax } from './errors.ts';
import { listed, quote, quotedCharactersMax, shortened } from './quote.ts';

test('a short text is quoted whole, a long one by its beginning and its length', () => {
  expect(quote('')).toBe("''");
  expect(quote('x'.repeat(quotedCharactersMax))).toBe(`'${'x'.repeat(quotedCharactersMax)}'`);
  expect(quote('x'.repeat(1_000_000))).toBe(`'${'x'.repeat(quotedCharactersMax)}…' (1000000 characters)`);
});

test('a text is never cut within a pair of surrogates', () => {
  const text = `${'x'.repeat(quotedCharactersMax - 1)}😀${'y'.repeat(10)}`;
  expect(quote(text)).toBe(`'${'x'.repeat(quotedCharactersMax - 1)}…' (${text.length} characters)`);
  expect(shortened('😀😀', 3)).toBe('😀… (4 characters)');
});

test('a list names the first items and counts the others', () => {
  expect(listed(['a', 'b'], 2)).toBe('a, b');
  expect(listed(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more');
});

test('the message of an InferenceError is bounded whatever it is made of', () => {
  const { message } = new InferenceError('invalid-request', 'x'.repeat(1_000_000));
  expect(message).toBe(`${'x'.repeat(messageCharactersMax)}… (1000000 characters)`);
  const whole = 'x'.repeat(messageCharactersMax);
  expect(new InferenceError('invalid-request', whole).message).toBe(whole);
});
