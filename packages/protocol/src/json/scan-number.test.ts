import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberScan, numberCharactersMax, scanNumber, textOfNumber } from './scan-number.ts';

const encoder = new TextEncoder();
const runs = process.env.TEST_LONG === '1' ? 1000 : 200;

function scan(text: string): NumberScan {
  const number = new NumberScan();
  const bytes = encoder.encode(`${text},`);
  expect(scanNumber(bytes, 0, bytes.length, number)).toBe(true);
  expect(textOfNumber(bytes, number)).toBe(text);
  return number;
}

function expectSame(text: string): void {
  expect([text, scan(text).value]).toEqual([text, Number(text)]);
}

test('numbers of every length and exponent are the nearest double', () => {
  const digits = fc
    .integer({ min: 1, max: 25 })
    .chain((length) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: length, maxLength: length }));
  fc.assert(
    fc.property(
      fc.boolean(),
      digits,
      fc.nat(25),
      fc.integer({ min: -90, max: 90 }),
      (isNegative, list, point, power) => {
        const whole =
          list
            .slice(0, point)
            .join('')
            .replace(/^0+(?=\d)/, '') || '0';
        const fraction = list.slice(point).join('');
        expectSame(`${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}e${power}`);
        expectSame(`${whole}${fraction === '' ? '' : `.${fraction}`}`);
      },
    ),
    { seed: 1, numRuns: 6 * runs },
  );
});

test('the text JavaScript writes for any double reads back as that double', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      for (const text of [String(value), value.toPrecision(17), value.toPrecision(16), String(Math.fround(value))]) {
        if (text !== 'Infinity' && text !== '-Infinity') expectSame(text);
      }
    }),
    { seed: 2, numRuns: 3 * runs },
  );
});

test('numbers at and beside the middle between two doubles round as they must', () => {
  const bits = new BigUint64Array(1);
  const value = new Float64Array(bits.buffer);
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: (1n << 52n) - 1n }),
      fc.integer({ min: -40, max: 60 }),
      (fraction, exponent) => {
        bits[0] = (BigInt(1023 + exponent) << 52n) | fraction;
        const double = value[0] as number;
        const significand = (1n << 53n) | (fraction << 1n) | 1n;
        // The exact decimal text of the middle: significand * 2 ** (exponent - 53).
        const shift = exponent - 53;
        const text = shift >= 0 ? `${significand << BigInt(shift)}` : decimalOf(significand, -shift);
        expectSame(text);
        expectSame(text.slice(0, 19));
        expect(Math.abs(scan(text).value - double) / double).toBeLessThanOrEqual(2 ** -52);
      },
    ),
    { seed: 3, numRuns: runs },
  );
});

/** numerator / 2 ** power as exact decimal text. */
function decimalOf(numerator: bigint, power: number): string {
  const scaled = `${numerator * 5n ** BigInt(power)}`.padStart(power + 1, '0');
  return `${scaled.slice(0, -power)}.${scaled.slice(-power)}`;
}

test('the edges of doubles and integers are exact', () => {
  const texts = [
    '0', '-0', '0.0', '-0.0', '0e5', '0e-500', '0.000e999', '1', '-1', '9007199254740991', '9007199254740992', '9007199254740993',
    '9007199254740995', '-9223372036854775808', '18446744073709551615', '4.9e-324', '2.4703282292062327e-324', '2.4703282292062329e-324',
    '2.2250738585072011e-308', '1.7976931348623157e308', '1e22', '1e23', '8.5e22', '123456789012345678e-18', '1e-22', '1e-23', '1e64',
    '1e-64', '1e65', '0.1', '0.10000000149011612', '3.4028234663852886e38', '1.401298464324817e-45', '1E5', '1E+5', '1e-05', '1e000000000000005',
    `1${'0'.repeat(400)}`, `0.${'0'.repeat(400)}1`, `${'9'.repeat(30)}.${'9'.repeat(30)}`,
  ]; // biome-ignore format: a table reads better without one text a line
  for (const text of texts) {
    expect([text, scan(text).value]).toEqual([text, Number(text)]);
    expect(scan(text).isInteger).toBe(/^-?\d+$/.test(text));
  }
});

test('the literals NaN and Infinity are numbers and marked as such', () => {
  expect(scan('NaN')).toMatchObject({ value: Number.NaN, isWord: true, isInteger: false });
  expect(scan('Infinity')).toMatchObject({ value: Number.POSITIVE_INFINITY, isWord: true });
  expect(scan('-Infinity')).toMatchObject({ value: Number.NEGATIVE_INFINITY, isWord: true });
  expect(scan('1e999')).toMatchObject({ value: Number.POSITIVE_INFINITY, isWord: false, isInteger: false });
});

test('a number reads the same wherever the bytes around it end', () => {
  const text = '-12.5e-3';
  const bytes = encoder.encode(`${text}99`);
  const number = new NumberScan();
  for (let end = 0; end <= text.length; end += 1) {
    const part = text.slice(0, end);
    if (/^-?\d+(\.\d+)?(e-?\d+)?$/.test(part)) {
      expect(scanNumber(bytes, 0, end, number)).toBe(true);
      expect(number).toMatchObject({ value: Number(part), end });
    } else if (end === 0) expect(scanNumber(bytes, 0, end, number)).toBe(false);
    else expect(() => scanNumber(bytes, 0, end, number)).toThrow(/found the end of the text/);
  }
});

test('what is not a number is refused with its position', () => {
  const number = new NumberScan();
  for (const [text, problem] of [
    ['01', 'JSON at line 1, column 1 (byte 0): a number must not have leading zeros'],
    ['-01', 'JSON at line 1, column 1 (byte 0): a number must not have leading zeros'],
    ['1.', 'JSON at line 1, column 3 (byte 2): expected a digit after the decimal point, found the end of the text'],
    ['1.e5', "JSON at line 1, column 3 (byte 2): expected a digit after the decimal point, found 'e'"],
    ['1e', 'JSON at line 1, column 3 (byte 2): expected a digit of the exponent, found the end of the text'],
    ['1e+', 'JSON at line 1, column 4 (byte 3): expected a digit of the exponent, found the end of the text'],
    ['-x', "JSON at line 1, column 2 (byte 1): expected a digit or 'Infinity' after '-', found 'x'"],
    ['--1', "JSON at line 1, column 2 (byte 1): expected a digit or 'Infinity' after '-', found '-'"],
    ['Nan', "JSON at line 1, column 1 (byte 0): the only number that begins with 'N' is NaN"],
    ['Inf', "JSON at line 1, column 1 (byte 0): the only number that begins with 'I' is Infinity"],
    ['-NaN', "JSON at line 1, column 2 (byte 1): expected a digit or 'Infinity' after '-', found 'N'"],
  ] as const) {
    const bytes = encoder.encode(text);
    expect(() => scanNumber(bytes, 0, bytes.length, number)).toThrow(
      expect.objectContaining({ message: problem, code: 'invalid-request' }),
    );
  }
  for (const text of ['', '.5', '+1', 'nan', 'inf', 'x', '/', ':']) {
    const bytes = encoder.encode(text);
    expect(scanNumber(bytes, 0, bytes.length, number)).toBe(false);
  }
});

test('a number longer than the limit is refused', () => {
  expect(scan('1'.repeat(numberCharactersMax)).value).toBe(Number.POSITIVE_INFINITY);
  const bytes = encoder.encode('1'.repeat(numberCharactersMax + 1));
  expect(() => scanNumber(bytes, 0, bytes.length, new NumberScan())).toThrow(/more than 1024 characters/);
});
