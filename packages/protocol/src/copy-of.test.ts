import { expect, test } from 'vitest';
import { copyOf, copyOfText } from './copy-of.ts';

test.each([
  ['a Buffer', Buffer.from('..text..')],
  ['a Uint8Array', new Uint8Array(Buffer.from('..text..'))],
])('a copy of %s lies in memory of its own, exactly as large', (_, bytes) => {
  const copy = copyOf(bytes, 2, 6);
  bytes.fill(0);
  expect(Buffer.from(copy).toString()).toBe('text');
  expect(copy.buffer.byteLength).toBe(4);
  expect(copyOf(bytes).byteLength).toBe(8);
});

test('the compiler refuses the result of slice, which is a view of a Buffer and a copy of a Uint8Array', () => {
  const bytes: Uint8Array = Buffer.from('text');
  // @ts-expect-error: types/byte-slices.d.ts
  const part: Uint8Array = bytes.slice(1);
  bytes.fill(0);
  expect(part).toEqual(Buffer.alloc(3));
  // @ts-expect-error: also where the type says that it is a Buffer
  const view: Uint8Array = Buffer.from('text').slice(1);
  expect(view).toHaveLength(3);
});

test('a copy of a text is the same text, whatever its characters', () => {
  for (const text of ['', 'a caller', 'ümläut', '\u{1f600} and \ud800 alone']) expect(copyOfText(text)).toBe(text);
});
