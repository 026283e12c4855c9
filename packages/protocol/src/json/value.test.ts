import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InferenceError } from '../errors.ts';
import { jsonDepthMax } from './reader.ts';
import { type JsonValue, parseJson, stringifyJson } from './value.ts';

const encoder = new TextEncoder();
const parse = (text: string): JsonValue => parseJson(encoder.encode(text));

function refusalOf(input: string | Uint8Array): string {
  try {
    parseJson(typeof input === 'string' ? encoder.encode(input) : input);
  } catch (error) {
    expect(error).toBeInstanceOf(InferenceError);
    expect((error as InferenceError).code).toBe('invalid-request');
    return (error as InferenceError).message;
  }
  throw new Error(`accepted ${String(input)}`);
}

/** Random documents by the thousand take a while on a machine that has other work. */
const manyDocumentsMs = 60_000;
const documents = process.env.TEST_LONG === '1' ? 12_000 : 1000;

/** Whether a value is what JSON.parse made of the same text, which has doubles only. */
function isSame(value: JsonValue, expected: unknown): boolean {
  if (typeof value === 'bigint') return Number(value) === expected;
  if (typeof value !== 'object' || value === null) return Object.is(value, expected);
  if (typeof expected !== 'object' || expected === null || Array.isArray(value) !== Array.isArray(expected))
    return false;
  const entries = Object.entries(value);
  const others = Object.entries(expected);
  return (
    entries.length === others.length &&
    entries.every(([key, member], index) => others[index]?.[0] === key && isSame(member, others[index]?.[1]))
  );
}

test(
  `${documents} random documents read as JSON.parse reads them, with and without white space, and write back`,
  () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5, noUnicodeString: false }),
        fc.constantFrom('', ' ', '\t\r\n'),
        (value, space) => {
          const text = JSON.stringify(value, undefined, space);
          fc.pre(!/\\u[dD][89a-fA-F]/.test(text));
          const parsed = parse(text);
          expect(isSame(parsed, JSON.parse(text))).toBe(true);
          expect(isSame(parsed, JSON.parse(stringifyJson(parsed)))).toBe(true);
        },
      ),
      { seed: 4, numRuns: documents },
    );
  },
  manyDocumentsMs,
);

test(
  `${documents} damaged documents are refused where JSON.parse refuses them, and read the same where not`,
  () => {
    const alphabet = '{}[],:"\\/ue0123.-+ntfalsrNI \n\u0001é';
    let refused = 0;
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 3 }),
        fc.nat(),
        fc.nat(alphabet.length - 1),
        fc.nat(2),
        (value, where, letter, kind) => {
          const whole = JSON.stringify(value);
          const at = where % (whole.length + 1);
          const inserted = kind === 0 ? '' : (alphabet[letter] as string);
          const text = whole.slice(0, at) + inserted + whole.slice(at + (kind === 1 ? 0 : 1));
          let expected: unknown;
          try {
            expected = JSON.parse(text);
          } catch {
            refused += 1;
            expect(refusalOf(text)).toMatch(/^JSON at line \d+, column \d+ \(byte \d+\): /);
            return;
          }
          // Where JSON.parse is laxer: duplicate keys, lone surrogates, numbers beyond all doubles.
          let parsed: JsonValue;
          try {
            parsed = parse(text);
          } catch (error) {
            expect(String(error)).toMatch(/occurs twice|lone surrogate|too large for a 64-bit float/);
            return;
          }
          expect(isSame(parsed, expected)).toBe(true);
        },
      ),
      { seed: 5, numRuns: documents },
    );
    expect(refused).toBeGreaterThan(documents / 3);
  },
  manyDocumentsMs,
);

test('a document cut at any byte is refused, never read as something else', () => {
  const bytes = encoder.encode(
    ' {"a":[1,-2.5e3,true,null,"x\\u00e9\\n\\ud83d\\ude00é€😀"],"b":{"c":NaN,"d":-Infinity}}',
  );
  expect(() => parseJson(bytes)).not.toThrow();
  for (let length = 0; length < bytes.length; length += 1)
    expect(refusalOf(bytes.subarray(0, length))).toMatch(/^JSON at/);
});

test('integers beyond 2^53 are exact in both directions', () => {
  expect(parse('9007199254740991')).toBe(9007199254740991);
  expect(parse('9007199254740993')).toBe(9007199254740993n);
  expect(parse('-9223372036854775808')).toBe(-(2n ** 63n));
  expect(parse('18446744073709551615')).toBe(2n ** 64n - 1n);
  expect(stringifyJson(2n ** 64n - 1n)).toBe('18446744073709551615');
  expect(parse(`1${'0'.repeat(400)}`)).toBe(10n ** 400n);
  expect(parse('9007199254740993.0')).toBe(9007199254740992);
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value) => {
      expect(BigInt(parse(stringifyJson(value)) as number)).toBe(value);
    }),
    { seed: 6, numRuns: 1000 },
  );
});

test('the numbers JSON lacks are read and written as bare literals', () => {
  const text = '[NaN,Infinity,-Infinity,-0,0]';
  const values = parse(text) as number[];
  expect(values).toEqual([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0]);
  expect(stringifyJson(values)).toBe(text);
});

test('nesting is limited, in reading and in writing, to the same depth', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  const deepest = parse(nested(jsonDepthMax));
  expect(stringifyJson(deepest)).toBe(nested(jsonDepthMax));
  expect(refusalOf(nested(jsonDepthMax + 1))).toBe(
    'JSON at line 1, column 101 (byte 100): arrays and objects are nested more than 100 deep',
  );
  expect(refusalOf('{"a":'.repeat(50_000))).toMatch(/nested more than 100 deep/);
  expect(() => stringifyJson([deepest])).toThrow(RangeError);
});

test('duplicate keys are refused, also among many and when written differently', () => {
  expect(refusalOf('{"a":1,"b":2,"a":3}')).toBe('JSON at line 1, column 14 (byte 13): the key "a" occurs twice');
  expect(refusalOf('{"a":1,"\\u0061":2}')).toMatch(/the key "a" occurs twice/);
  expect(refusalOf('{"":1,"":2}')).toMatch(/the key "" occurs twice/);
  const many = Array.from({ length: 5000 }, (_, index) => `"key ${index}":${index}`);
  expect(Object.keys(parse(`{${many.join()}}`) as object).length).toBe(5000);
  for (const repeated of [0, 15, 16, 17, 4999]) {
    expect(refusalOf(`{${many.join()},"key ${repeated}":0}`)).toContain(`"key ${repeated}" occurs twice`);
  }
  expect(parse('{"a":{"a":1},"b":[{"a":2},{"a":3}]}')).toEqual({ a: { a: 1 }, b: [{ a: 2 }, { a: 3 }] });
});

test('a key named __proto__ is a member like any other', () => {
  const value = parse('{"__proto__":{"polluted":1},"constructor":2}') as Record<string, JsonValue>;
  expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
  expect((value as { polluted?: unknown }).polluted).toBeUndefined();
  expect(stringifyJson(value)).toBe('{"__proto__":{"polluted":1},"constructor":2}');
});

test('malformed UTF-8 is refused with its position, wherever it is', () => {
  const bad: [name: string, bytes: number[]][] = [
    ['a lone continuation', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['an overlong zero', [0xe0, 0x80, 0x80]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
    ['an impossible byte', [0xff]],
  ];
  for (const [name, bytes] of bad) {
    const text = Uint8Array.of(0x22, 0x61, ...bytes, 0x22);
    expect([name, refusalOf(text)]).toEqual([name, 'JSON at line 1, column 3 (byte 2): a string is not valid UTF-8']);
    expect(refusalOf(Uint8Array.of(0x7b, ...text, 0x3a, 0x31, 0x7d))).toMatch(/byte 3\): a string is not valid UTF-8/);
  }
});

test('every kind of malformed text has its own message', () => {
  const cases: [text: string, problem: string][] = [
    ['', 'expected a value, found the end of the text'],
    ['\ufeff1', 'expected a value, found a byte order mark'],
    ['[1,]', "expected a value after ',', found ']'"],
    ['[,1]', "expected a value, found ','"],
    ['[1 2]', "expected ',' or ']' after an element, found '2'"],
    ['{"a":1,}', "expected a key in double quotes, found '}'"],
    ['{a:1}', "expected a key in double quotes or '}', found 'a'"],
    ['{"a" 1}', "expected ':' after a key, found '1'"],
    ['{"a":1 "b":2}', `expected ',' or '}' after a member, found '"'`],
    ["['a']", `expected a value, found "'"`],
    ['1 2', "expected the end of the text, found '2'"],
    ['{}x', "expected the end of the text, found 'x'"],
    ['01', 'a number must not have leading zeros'],
    ['.5', "expected a value, found '.'"],
    ['+1', "expected a value, found '+'"],
    ['1e999', 'a number is too large for a 64-bit float'],
    ['tru', "expected true or false, found 't'"],
    ['nul', "expected null, found 'n'"],
    ['"a\nb"', 'a string has the control byte 0x0a; escape it as \\u000a'],
    ['"\\x"', `expected one of " \\ / b f n r t u after a backslash, found 'x'`],
    ['"\\u12g4"', 'an escape \\u needs four hexadecimal digits'],
    ['"\\ud800"', 'a string has the lone surrogate \\ud800, which is not a character'],
    ['"\\ud800\\u0041"', 'a string has the lone surrogate \\ud800, which is not a character'],
    ['"\\udc00\\ud800"', 'a string has the lone surrogate \\udc00, which is not a character'],
    ['"abc', 'a string has no closing quote'],
    ['\u00a01', 'expected a value, found byte 0xc2'],
  ];
  for (const [text, problem] of cases)
    expect(refusalOf(text)).toMatch(new RegExp(`^JSON at [^:]*: ${escapeRegExp(problem)}$`));
});

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

test('the position of a problem counts lines and columns from one', () => {
  expect(refusalOf('{\n  "a": 1,\n  "b": x\n}')).toMatch(/^JSON at line 3, column 8 \(byte 19\): /);
});

test('strings of every character survive writing and reading, at every length', () => {
  for (let unit = 0; unit < 0xd800; unit += 1) {
    const text = String.fromCharCode(unit);
    if (parse(stringifyJson(text)) !== text) throw new Error(`U+${unit.toString(16)}`);
  }
  for (let length = 0; length < 140; length += 1) {
    for (const letter of ['a', '"', 'é', '😀', '\u0000']) {
      const text = letter.repeat(length);
      expect(parse(stringifyJson(text))).toBe(text);
      expect(stringifyJson(text)).toBe(JSON.stringify(text));
    }
  }
  expect(stringifyJson('é\ud800"')).toBe('"\\u00e9\\ud800\\""');
});

test('a string read earlier stays what it was when the bytes are used again', () => {
  const bytes = encoder.encode('["first name","a long text that is not remembered by anybody, é"]');
  const [first, second] = parseJson(bytes) as string[];
  bytes.fill(0x20);
  expect([first, second]).toEqual(['first name', 'a long text that is not remembered by anybody, é']);
});

test('more short strings than are remembered are still all told apart', () => {
  const texts = Array.from({ length: 3000 }, (_, index) => `t${index}`);
  for (let round = 0; round < 2; round += 1) expect(parse(JSON.stringify(texts))).toEqual(texts);
});

test('a value that JSON cannot represent is a bug in the caller', () => {
  expect(() => stringifyJson(undefined as unknown as JsonValue)).toThrow(TypeError);
  expect(() => stringifyJson([(() => 1) as unknown as JsonValue])).toThrow('a function cannot be written as JSON');
});
