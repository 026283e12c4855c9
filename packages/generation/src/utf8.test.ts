import { expect, test } from 'vitest';
import { leadingCharacterBytes } from './utf8.ts';

test('every character is found at its last byte, and not before', () => {
  for (const code of [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x3ffff, 0x40000, 0x10ffff]) {
    const bytes = [...Buffer.from(String.fromCodePoint(code))];
    for (let length = 0; length < bytes.length; length++) expect(leadingCharacterBytes(bytes.slice(0, length))).toBe(0);
    expect(leadingCharacterBytes(bytes)).toBe(bytes.length);
    expect(leadingCharacterBytes([...bytes, 0x80])).toBe(bytes.length);
  }
});

test.each([
  ['a following byte alone', [0x80]],
  ['an overlong form of two bytes', [0xc1, 0x81]],
  ['an overlong form of three bytes', [0xe0, 0x9f]],
  ['an overlong form of four bytes', [0xf0, 0x8f]],
  ['a surrogate', [0xed, 0xa0]],
  ['a number above U+10FFFF', [0xf4, 0x90]],
  ['a first byte that none has', [0xf5]],
  ['a character that breaks off', [0xe6, 0xb0, 0x41]],
])('%s begins no character', (_, bytes) => {
  expect(leadingCharacterBytes(bytes)).toBe(-1);
});
