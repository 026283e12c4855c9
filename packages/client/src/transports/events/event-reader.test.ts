import { expect, test } from 'vitest';
import { ServerEventReader } from './event-reader.ts';

const text =
  ': keep-alive\n\nevent: opened\nid: 0\nretry: 1000\ndata: {"a":1}\n\nevent:output\ndata:one\ndata: two\n\ndata\n\nevent: none\n\n';
const expected = [
  { name: 'opened', data: '{"a":1}' },
  { name: 'output', data: 'one\ntwo' },
  { name: '', data: '' },
];

test.each([
  ['line feeds', text],
  ['carriage returns', text.replaceAll('\n', '\r')],
  ['both', text.replaceAll('\n', '\r\n')],
])('events are the same however the text is cut: %s', (_name, whole) => {
  for (let size = 1; size <= whole.length; size++) {
    const reader = new ServerEventReader();
    const seen = [];
    for (let at = 0; at < whole.length; at += size) seen.push(...reader.read(whole.slice(at, at + size)));
    expect([size, seen]).toEqual([size, expected]);
  }
});
