import { expect, test } from 'vitest';
import { EventCounter } from './event-counter.ts';

function chunked(texts: readonly string[]): string {
  const chunks = texts.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`);
  return `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`;
}

const events = [
  'event: opened\nid: 0\nretry: 1000\ndata: {"nextOutput":1}\n\nevent: out',
  'put\nid: 1\ndata: {}\n\nevent: output\nid: 2\ndata: {}\n',
  '\nevent: ended\nid: end\ndata: {"outcome":"done"}\n\n',
];

test.each([1, 7, 1000])('outputs and the end of two responses are counted, read %i bytes at a time', (step) => {
  const seen: unknown[] = [];
  const counter = new EventCounter(() => seen.push([counter.outputs, counter.hasEnded]));
  const bytes = Buffer.from(chunked(events) + chunked(['event: output\ndata: {}\n\n']));
  for (let at = 0; at < bytes.length; at += step) counter.push(bytes.subarray(at, at + step));
  expect(seen).toEqual([
    [2, true],
    [1, false],
  ]);
});
