import { expect, test } from 'vitest';
import { type StreamPayload, streamPayloadBytes } from './frames.ts';

test('the bytes of a text are those of its UTF-8, lone surrogates included', () => {
  for (const text of ['', 'Once', 'naïve', '水車', '😀!', '\ud83d', '\ude00\ud83d', 'a\ud83d😀']) {
    const expected = new TextEncoder().encode(text).length;
    expect([text, streamPayloadBytes({ kind: 'text', text })]).toEqual([text, expected]);
    expect(streamPayloadBytes({ kind: 'token', id: 7, text })).toBe(expected);
  }
});

test('the bytes of tensors are those of their data, names not counted', () => {
  const tensor = { name: 'x', datatype: 'FP32', shape: [2], data: new Uint8Array(8) } as const;
  const payload: StreamPayload = { kind: 'tensors', tensors: [tensor, tensor] };
  expect(streamPayloadBytes(payload)).toBe(16);
  expect(streamPayloadBytes({ kind: 'bytes', bytes: new Uint8Array(3) })).toBe(3);
  expect(streamPayloadBytes({ kind: 'none' })).toBe(0);
});
