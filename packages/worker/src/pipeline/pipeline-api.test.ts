import { expect, test } from 'vitest';
import { decodeTexts } from './pipeline-api.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.of(...values);

test('elements are decoded as they are, each on its own', () => {
  const data = [Buffer.from('grüße'), bytes(), bytes(0xef, 0xbb, 0xbf, 0x61)];
  expect(decodeTexts('text', { data })).toEqual(['grüße', '', '\ufeffa']);
});

test('an element that is not UTF-8, or ends within a character, is an invalid request by name and position', () => {
  for (const broken of [bytes(0xff), bytes(0xc3)]) {
    expect(() => decodeTexts('text', { data: [bytes(0x61), broken, bytes(0xa9)] })).toThrow(
      expect.objectContaining({ code: 'invalid-request', message: 'text[1] is not valid UTF-8; send text' }),
    );
  }
});
