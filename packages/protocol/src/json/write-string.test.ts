import { expect, test } from 'vitest';
import { GrowableBytes } from './growable-bytes.ts';
import { appendAscii, appendQuoted, appendQuotedUtf8 } from './write-string.ts';

const decoder = new TextDecoder();
const encoder = new TextEncoder();

test('strings are quoted as JSON.stringify quotes them, whatever the size of the buffer', () => {
  const texts = [
    '',
    'a',
    '"\\',
    '\u0000\u001f\b\t\n\f\r\u007f',
    'é€😀',
    '\u0001'.repeat(1000),
    `${'x'.repeat(5000)}"`,
    '\u2028/',
  ];
  for (const text of texts) {
    for (const initialBytes of [0, 1, 7, 64, 10_000]) {
      const into = new GrowableBytes(initialBytes);
      appendQuotedUtf8(into, encoder.encode(text));
      expect(decoder.decode(into.take())).toBe(JSON.stringify(text));
      appendQuoted(into, text);
      expect(decoder.decode(into.take())).toBe(JSON.stringify(text));
    }
  }
});

test('bytes that are not UTF-8 leave nothing behind, also after a growth in their middle', () => {
  const into = new GrowableBytes(4);
  appendAscii(into, 'kept');
  const bytes = new Uint8Array(2000).fill(0x01);
  bytes[1999] = 0xff;
  expect(appendQuotedUtf8(into, bytes)).toBe(false);
  appendAscii(into, '!');
  expect(decoder.decode(into.take())).toBe('kept!');
});

test('pieces taken earlier stay intact, and a slab grown for a large one is not kept', () => {
  const into = new GrowableBytes(64);
  appendAscii(into, 'small');
  const first = into.take();
  appendAscii(into, 'L'.repeat(10_000));
  const large = into.take();
  appendAscii(into, 'after');
  const last = into.take();
  expect([first, last].map((piece) => decoder.decode(piece))).toEqual(['small', 'after']);
  expect(large.every((byte) => byte === 0x4c)).toBe(true);
  expect(last.buffer.byteLength).toBe(64);
  expect(last.buffer).not.toBe(first.buffer);
});

test('small pieces share a slab', () => {
  const into = new GrowableBytes(64);
  appendAscii(into, 'one');
  const first = into.take();
  appendAscii(into, 'two');
  expect(into.take().buffer).toBe(first.buffer);
});
