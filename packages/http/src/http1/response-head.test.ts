import { expect, test } from 'vitest';
import type { HeaderList } from '../exchange.ts';
import { copiedBytesMax } from '../wire/output.ts';
import { ResponseHeads, responseHead } from './response-head.ts';

const json: HeaderList = [['content-type', 'application/json']];
const date = 'Sun, 15 Nov 2026 11:36:04 GMT';
const later = 'Sun, 15 Nov 2026 11:36:05 GMT';

test('a head is written again as soon as anything about it differs', () => {
  const heads = new ResponseHeads();
  const asked: Parameters<typeof responseHead>[] = [
    [200, json, 'length', 7, '', date],
    [200, json, 'length', 7, '', later],
    [200, json, 'length', 8, '', later],
    [200, json, 'length', 12, '', later],
    [200, json, 'length', 12, 'close', later],
    [200, json, 'chunked', 12, 'close', later],
    [304, json, 'none', 12, 'close', later],
    [304, [['content-type', 'text/plain']], 'none', 12, 'close', later],
    [200, json, 'length', 7, '', date],
  ];
  for (const one of asked) {
    const head = responseHead(...one);
    expect(heads.lendBytes(...one).toString('latin1')).toBe(head);
    expect(heads.lendBytes(...one).toString('latin1')).toBe(head);
  }
});

test('a cached head has memory of its own, so that an idle connection keeps nothing else alive', () => {
  const bytes = new ResponseHeads().lendBytes(200, json, 'length', 7, '', date);
  expect(bytes.buffer.byteLength).toBe(bytes.length);
});

test('a head that outputs do not copy is not overwritten', () => {
  const heads = new ResponseHeads();
  const long: HeaderList = [['x-long', 'l'.repeat(copiedBytesMax)]];
  const first = heads.lendBytes(200, long, 'length', 1, '', date);
  const before = first.toString('latin1');
  heads.lendBytes(200, long, 'length', 2, '', date);
  expect(first.toString('latin1')).toBe(before);
});
