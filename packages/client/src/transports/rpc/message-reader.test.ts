import { expect, test } from 'vitest';
import { AnswerReader } from './message-reader.ts';

function prefixed(text: string): Buffer {
  const bytes = Buffer.alloc(5 + text.length);
  bytes.writeUInt32BE(text.length, 1);
  bytes.write(text, 5, 'latin1');
  return bytes;
}

const body = Buffer.concat([prefixed('one'), prefixed(''), prefixed('three'.repeat(9)), prefixed('x')]);
const expected = ['one', '', 'three'.repeat(9), 'x'];

test('messages are the same however the body is cut', () => {
  for (let size = 1; size <= body.length; size++) {
    const seen: string[] = [];
    const reader = new AnswerReader((message) => seen.push(Buffer.from(message).toString('latin1')));
    for (let at = 0; at < body.length; at += size) reader.read(Buffer.from(body.subarray(at, at + size)));
    expect([size, seen, reader.isInMessage]).toEqual([size, expected, false]);
  }
});

test('a message in one piece is a view of it, and one that was handed out stays as it was', () => {
  const seen: Uint8Array[] = [];
  const reader = new AnswerReader((message) => seen.push(message));
  reader.read(body);
  expect(seen.every(({ buffer }) => buffer === body.buffer)).toBe(true);
  reader.read(prefixed('another'));
  expect(Buffer.from(seen[0] ?? []).toString()).toBe('one');
});

test('a message that is compressed, or longer than any, is refused at its announcement', () => {
  const reader = (): AnswerReader => new AnswerReader(() => {});
  expect(() => reader().read(Buffer.of(1, 0, 0, 0, 1))).toThrow('compressed');
  expect(() => reader().read(Buffer.of(0, 255, 255, 255, 255))).toThrow('4294967295 bytes');
});

test('a limit of its own is held, and flags are told', () => {
  const seen: [string, number][] = [];
  const reader = new AnswerReader((message, flag) => seen.push([Buffer.from(message).toString(), flag]), 3);
  reader.read(prefixed('one'));
  reader.read(Buffer.of(2, 0, 0, 0, 0));
  expect(seen).toEqual([
    ['one', 0],
    ['', 2],
  ]);
  expect(() => reader.read(prefixed('four'))).toThrow('a message of the answer has 4 bytes; at most 3 are read');
});
