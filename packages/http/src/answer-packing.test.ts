import { gunzipSync, inflateSync } from 'node:zlib';
import { Cancellation, neverCancelled } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { AnswerPacking } from './answer-packing.ts';
import { CallerGone } from './exchange.ts';

const small = Buffer.from('a small body');
const large = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * index) & 0xff));
const packing = new AnswerPacking({ syncBytesMax: 1000, packingsMax: 1, compressionLevel: 1 });
const anybody = { owner: 'a', signal: neverCancelled };

describe.each([
  ['gzip', gunzipSync],
  ['deflate', inflateSync],
] as const)('%s', (compression, unpack) => {
  test('compresses pieces in order, synchronously', () => {
    const packed = packing.packNow([small, new Uint8Array(0), small], 2 * small.length, compression);
    expect(unpack(packed).toString()).toBe('a small bodya small body');
    expect(unpack(packing.packNow([small], small.length, compression))).toEqual(small);
  });

  test('compresses pieces in order, off the event loop', async () => {
    const packed = await packing.packLater([small, large], compression, anybody);
    expect(Buffer.compare(unpack(Buffer.concat(packed)), Buffer.concat([small, large]))).toBe(0);
  });
});

test('answers up to a size are compressed synchronously', () => {
  expect([1000, 1001].map((bytes) => packing.isQuick(bytes))).toEqual([true, false]);
});

test('a caller that disconnects ends the compression of its answer, and the next one is compressed', async () => {
  const caller = new Cancellation();
  const left = packing.packLater([large], 'gzip', { owner: 'a', signal: caller });
  const next = packing.packLater([small], 'gzip', anybody);
  caller.cancel('cancelled');
  await expect(left).rejects.toBeInstanceOf(CallerGone);
  expect(gunzipSync(Buffer.concat(await next))).toEqual(small);
});
