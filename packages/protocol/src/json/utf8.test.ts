import { expect, test } from 'vitest';
import { multibyteLength, writeCodePoint } from './utf8.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function isValid(bytes: Uint8Array): boolean {
  try {
    return decoder.decode(bytes).length > 0;
  } catch {
    return false;
  }
}

test('two and three byte sequences are accepted exactly where the standard decoder accepts them', () => {
  const bytes = new Uint8Array(3);
  const wrong: string[] = [];
  for (let lead = 0x80; lead <= 0xff; lead += 1) {
    bytes[0] = lead;
    for (let second = 0; second <= 0xff; second += 1) {
      bytes[1] = second;
      if ((multibyteLength(bytes, 0, 2) === 2) !== isValid(bytes.subarray(0, 2))) wrong.push(`${lead} ${second}`);
      if (lead < 0xe0 || lead > 0xef) continue;
      for (const third of [0x7f, 0x80, 0xbf, 0xc0]) {
        bytes[2] = third;
        if ((multibyteLength(bytes, 0, 3) === 3) !== isValid(bytes)) wrong.push(`${lead} ${second} ${third}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

test('four byte sequences end at U+10FFFF and are never overlong or cut', () => {
  const bytes = new Uint8Array(4);
  const wrong: string[] = [];
  for (let lead = 0xf0; lead <= 0xff; lead += 1) {
    for (let second = 0; second <= 0xff; second += 1) {
      bytes.set([lead, second, 0x80, 0xbf]);
      if ((multibyteLength(bytes, 0, 4) === 4) !== isValid(bytes)) wrong.push(`${lead} ${second}`);
      if (multibyteLength(bytes, 0, 3) !== 0) wrong.push(`cut ${lead} ${second}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('code points are written as the standard encoder writes them', () => {
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(4);
  for (const codePoint of [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff]) {
    const end = writeCodePoint(bytes, 0, codePoint);
    expect(bytes.slice(0, end)).toEqual(encoder.encode(String.fromCodePoint(codePoint)));
    expect(end === 1 ? 1 : multibyteLength(bytes, 0, end)).toBe(end);
  }
});
