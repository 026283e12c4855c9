import { expect, test } from 'vitest';
import { textFromDouble, textFromElement } from './c-number-text.ts';

test.each([
  [10, '10.000000'],
  [0.1, '0.100000'],
  [-2.5, '-2.500000'],
  [0, '0.000000'],
  [-0, '-0.000000'],
  [-1e-9, '-0.000000'],
  [1 / 128, '0.007812'],
  [3 / 128, '0.023438'],
  [-1 / 128, '-0.007812'],
  [12345.0078125, '12345.007812'],
  [Math.fround(0.1), '0.100000'],
  [16777216, '16777216.000000'],
  [1e20, '100000000000000000000.000000'],
  [1e22, '10000000000000000000000.000000'],
  [Math.fround(3.4028234663852886e38), '340282346638528859811704183484516925440.000000'],
  [NaN, 'nan'],
  [Infinity, 'inf'],
  [-Infinity, '-inf'],
])('%d is formatted as %s', (value, text) => {
  expect(textFromDouble(value)).toBe(text);
});

test('integers are formatted without decimals', () => {
  expect(textFromElement(-7, false)).toBe('-7');
  expect(textFromElement(2n ** 63n, false)).toBe('9223372036854775808');
  expect(textFromElement(7, true)).toBe('7.000000');
});
