import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigTextError } from './config-text-error.ts';
import { nestingDepthMax, parseConfigText, type TextMessage, type TextValue } from './parser.ts';

/** The tree as plain data: numbers and identifiers as written, strings as text. */
function plain(message: TextMessage): unknown {
  return message.fields.map(({ name, value }) => [name, plainValue(value)]);
}
function plainValue(value: TextValue): unknown {
  if (value.kind === 'message') return plain(value);
  if (value.kind === 'list') return { list: value.elements.map(plainValue) };
  if (value.kind === 'string') return `"${Buffer.from(value.bytes).toString('utf8')}"`;
  return `${value.isNegative ? '-' : ''}${value.text}`;
}
function parsed(text: string): unknown {
  const { message, error } = parseConfigText(text);
  expect(error).toBeUndefined();
  return plain(message);
}

describe('what the text format allows', () => {
  test.each<[title: string, text: string, tree: unknown]>([
    ['nothing at all', '', []],
    ['only comments and blanks', ' # one\n\t# two', []],
    ['a byte order mark', '\ufeffa: 1', [['a', '1']]],
    ['a scalar', 'a: 1', [['a', '1']]],
    [
      'fields without separators',
      'a: 1 b: 2',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    [
      'commas and semicolons after fields',
      'a: 1, b: 2; c: 3,',
      [
        ['a', '1'],
        ['b', '2'],
        ['c', '3'],
      ],
    ],
    ['braces', 'a { b: 1 }', [['a', [['b', '1']]]]],
    ['angle brackets', 'a < b: 1 >', [['a', [['b', '1']]]]],
    ['a colon before a block', 'a: { b: 1 }', [['a', [['b', '1']]]]],
    ['an empty block', 'a {}', [['a', []]]],
    ['blocks in blocks, mixed', 'a { b < c { d: 1 } > }', [['a', [['b', [['c', [['d', '1']]]]]]]]],
    ['a list of scalars', 'a: [ 1, 2, -3 ]', [['a', { list: ['1', '2', '-3'] }]]],
    ['an empty list', 'a: []', [['a', { list: [] }]]],
    ['an empty list without a colon', 'a []', [['a', { list: [] }]]],
    ['a list of blocks without a colon', 'a [ { b: 1 }, { } ]', [['a', { list: [[['b', '1']], []] }]]],
    ['a minus apart from its number', 'a: - 5', [['a', '-5']]],
    ['negative infinity', 'a: -inf', [['a', '-inf']]],
    ['a comment inside a block', 'a { # why\n b: 1 # because\n}', [['a', [['b', '1']]]]],
    ['a hash inside a string', 'a: "#x"', [['a', '"#x"']]],
    [
      'both quotes',
      `a: "it's" b: 'a "b"'`,
      [
        ['a', `"it's"`],
        ['b', '"a "b""'],
      ],
    ],
    ['strings that follow one another', `a: "one" 'two'\n  "three"`, [['a', '"onetwothree"']]],
    ['simple escapes', String.raw`a: "\a\b\f\n\r\t\v\\\'\"\?"`, [['a', '"\x07\b\f\n\r\t\v\\\'"?"']]],
    ['octal escapes', String.raw`a: "\101\7\0601"`, [['a', '"A\x0701"']]],
    ['hex escapes', String.raw`a: "\x41\xA\X42"`, [['a', '"A\nB"']]],
    ['a character out of byte escapes', String.raw`a: "\xe2\x82\xac\342\202\254"`, [['a', '"€€"']]],
    ['Unicode escapes', String.raw`a: "\u20ac\U0001F980\ud83e\udd80"`, [['a', '"€🦀🦀"']]],
    ['plain Unicode', 'a: "日本語"', [['a', '"日本語"']]],
    [
      'numbers in every form',
      'a: [0, 7, 0x1F, 017, 1.5, .5, 1., 1e3, 1.5E-3, 2f, 1.5F]',
      [['a', { list: ['0', '7', '0x1F', '017', '1.5', '.5', '1.', '1e3', '1.5E-3', '2f', '1.5F'] }]],
    ],
  ])('reads %s', (_, text, tree) => {
    expect(parsed(text)).toEqual(tree);
  });

  test('knows line and column of every field', () => {
    const { message } = parseConfigText('a: 1\n  b {\n\tc: [ 1,\n 2 ]\n  }');
    const [a, b] = message.fields;
    expect([a?.line, a?.column, b?.line, b?.column]).toEqual([1, 1, 2, 3]);
    const c = b?.value.kind === 'message' ? b.value.fields[0] : undefined;
    expect([c?.line, c?.column]).toEqual([3, 2]);
    const elements = c?.value.kind === 'list' ? c.value.elements : [];
    expect(elements.map(({ line, column }) => [line, column])).toEqual([
      [3, 7],
      [4, 2],
    ]);
  });
});

describe('what is not the text format', () => {
  test.each<[text: string, line: number, column: number, message: RegExp]>([
    ['a', 1, 2, /expected a value for a, found the end of the file/],
    ['a: ', 1, 4, /expected a value for a/],
    ['a 1', 1, 3, /expected ':' between a and its value/],
    ['a [1]', 1, 3, /expected ':' between a/],
    ['a: 1 }', 1, 6, /expected a field name, found '}'/],
    ['a {\n b: 1\n', 1, 3, /'\{' opened here is never closed with '\}'/],
    ['a < b: 1 }', 1, 10, /expected a field name, found '}'/],
    ['a: [1, 2', 1, 9, /expected ',' or '\]' in the list of a, found the end/],
    ['a: [1 2]', 1, 7, /expected ',' or '\]'/],
    ['a: [1, 2,]', 1, 10, /expected a value for a, found '\]'/],
    ['a: [[1]]', 1, 5, /expected a value for a, found '\['/],
    ['a: "x', 1, 4, /not closed on its line; end it with "/],
    ["a: 'x\n'", 1, 4, /not closed on its line; end it with '/],
    ['a: "x\\\n"', 1, 4, /not closed on its line/],
    [String.raw`a: "\q"`, 1, 5, /\\q is not an escape/],
    [String.raw`a: "\400"`, 1, 5, /larger than a byte/],
    [String.raw`a: "\xg"`, 1, 5, /\\x is not an escape/],
    [String.raw`a: "\u12"`, 1, 5, /\\u is not an escape/],
    [String.raw`a: "\ud83e"`, 1, 5, /not a Unicode character/],
    [String.raw`a: "\U00110000"`, 1, 5, /not a Unicode character/],
    ['a: 1x', 1, 4, /the number 1 runs into 'x'/],
    ['a: 0x', 1, 4, /the number 0 runs into 'x'/],
    ['a: 1.2.3', 1, 4, /runs into '\.'/],
    ['a: - "x"', 1, 6, /expected a value for a, found the string "x"/],
    ['a: --1', 1, 5, /expected a value/],
    ['1: 2', 1, 1, /expected a field name, found '1'/],
    ['"a": 2', 1, 1, /expected a field name, found the string "a"/],
    [': 2', 1, 1, /expected a field name/],
    [',', 1, 1, /expected a field name/],
    ['a: 1,, b: 2', 1, 6, /expected a field name/],
    ['[a.b]: 2', 1, 1, /extensions have no meaning/],
    ['a: 1\nb: ?', 2, 4, /unexpected character '\?'/],
    ['a: \u00e9', 1, 4, /unexpected character U\+00E9/],
    ['a: 1\u0000', 1, 5, /unexpected character U\+0000/],
    ['// a', 1, 1, /unexpected character '\/'/],
    ['a.b: 1', 1, 2, /unexpected character|expected/],
  ])('%j is refused at %i:%i', (text, line, column, message) => {
    const { error } = parseConfigText(text);
    expect(error?.message).toMatch(message);
    expect([error?.line, error?.column]).toEqual([line, column]);
  });

  test('what stands before an error is kept', () => {
    const { message, error } = parseConfigText('a: 1 b { c: 2 } d: ?');
    expect(error).toBeDefined();
    expect(plain(message)).toEqual([
      ['a', '1'],
      ['b', [['c', '2']]],
    ]);
  });

  test('blocks may be nested as deep as the limit and no deeper', () => {
    const nested = (depth: number) => `${'a{'.repeat(depth)}${'}'.repeat(depth)}`;
    expect(parseConfigText(nested(nestingDepthMax)).error).toBeUndefined();
    expect(parseConfigText(nested(nestingDepthMax + 1)).error?.message).toMatch(/more than 32 deep/);
    expect(parseConfigText(nested(100_000)).error?.message).toMatch(/more than 32 deep/);
  });
});

describe('any text', () => {
  const pieces = fc.constantFrom(
    ...['a', 'input', '{', '}', '<', '>', '[', ']', ':', ',', ';', '-', '"', "'", '\\', '#', '\n', ' ', '0', '1.5f'],
    ...['0x', 'inf', '"s"', "'t'", '\\x4', '\\u00', '\u0000', 'é', '🦀'],
  );

  test('is parsed, or refused with a position inside it', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(pieces, { maxLength: 60 }).map((all) => all.join('')),
          fc.string(),
        ),
        (text) => {
          const { error } = parseConfigText(text);
          if (error === undefined) return;
          expect(error).toBeInstanceOf(ConfigTextError);
          expect(error.line).toBeGreaterThanOrEqual(1);
          expect(error.line).toBeLessThanOrEqual(text.split('\n').length);
          expect(error.column).toBeGreaterThanOrEqual(1);
        },
      ),
      { seed: 1, numRuns: 3000 },
    );
  });

  test('every byte string comes back from its octal escapes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const escaped = [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
        const value = parseConfigText(`a: "${escaped}"`).message.fields[0]?.value;
        expect(value?.kind === 'string' && Buffer.compare(value.bytes, bytes)).toBe(0);
      }),
      { seed: 2 },
    );
  });

  test('a hundred thousand fields take no more than one pass', () => {
    const { message, error } = parseConfigText('a: 1\n'.repeat(100_000));
    expect(error).toBeUndefined();
    expect(message.fields.at(-1)?.line).toBe(100_000);
  });
});
