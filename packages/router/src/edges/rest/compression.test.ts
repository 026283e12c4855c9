import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { MemoryRefused, type RequestMemory, TurnGate } from '@millrace/http';
import { Cancellation, neverCancelled } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { inferenceErrorFrom } from '../routing/encode-error.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import {
  type BodyUnpacking,
  decompressBody as decompressInto,
  type Packing,
  requestPackingFrom,
} from './decompress.ts';

interface CountedMemory extends RequestMemory {
  heldBytes: number;
}

/** Refuses what would be more than this. */
function memoryOf(bytesMax: number): CountedMemory {
  return {
    heldBytes: 0,
    hold(bytes) {
      if (this.heldBytes + bytes > bytesMax) throw new MemoryRefused();
      this.heldBytes += bytes;
    },
    isWaiting: false,
    give: () => {},
    hasRoomToAnswer: () => true,
  };
}

const limits = { bodyBytesMax: 100_000, zlibSyncBytesMax: 1000 };
const parts = { zlibSyncBytesMax: limits.zlibSyncBytesMax, gate: new TurnGate(2), slices: new SliceQueue() };
const unpackingOf = (packing: Packing, more: Partial<BodyUnpacking> = {}): BodyUnpacking => {
  return { packing, isJson: false, bytesMax: limits.bodyBytesMax, owner: 'a', signal: neverCancelled, ...more };
};
const decompress = (packed: Uint8Array, packing: Packing, more: Partial<BodyUnpacking> = {}) =>
  decompressInto(packed, unpackingOf(packing, more), parts, memoryOf(1_000_000));
const small = Buffer.from('a small body');
const large = Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * index * 7) & 0xff));

describe('requests', () => {
  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('%s unpacks at once and off the event loop', async (packing, pack) => {
    expect(Buffer.compare(await decompress(pack(small), packing), small)).toBe(0);
    const packed = pack(large, { level: 0 });
    expect(packed.byteLength).toBeGreaterThan(limits.zlibSyncBytesMax);
    expect(Buffer.compare(await decompress(packed, packing), large)).toBe(0);
  });

  test('a small body that expands to a large one is decompressed off the event loop', async () => {
    const packed = gzipSync(new Uint8Array(90_000));
    expect(packed.byteLength).toBeLessThan(limits.zlibSyncBytesMax);
    expect((await decompress(packed, 'gzip')).byteLength).toBe(90_000);
  });

  test.each([
    ['at once', gzipSync(new Uint8Array(5_000))],
    ['off the event loop', gzipSync(new Uint8Array(90_000))],
  ])('a body decompressed %s counts against the memory of the request', async (_, packed) => {
    const refused = decompressInto(packed, unpackingOf('gzip'), parts, memoryOf(4_000));
    await expect(refused).rejects.toBeInstanceOf(MemoryRefused);
    const memory = memoryOf(90_000);
    const body = await decompressInto(packed, unpackingOf('gzip'), parts, memory);
    expect(memory.heldBytes).toBe(body.byteLength);
  });

  test('a caller at its share is refused instead of occupying a decompression that others need', async () => {
    const memory: RequestMemory = { ...memoryOf(1_000_000), hold: () => {}, isWaiting: true };
    const packed = gzipSync(new Uint8Array(900_000));
    const unpacking = unpackingOf('gzip', { bytesMax: 1_000_000 });
    const refused = decompressInto(packed, unpacking, { ...parts, zlibSyncBytesMax: 10 }, memory);
    await expect(refused).rejects.toBeInstanceOf(MemoryRefused);
    expect(parts.gate.inside).toBe(0);
  });

  test.each([
    ['a bomb small enough to unpack at once', gzipSync(new Uint8Array(500_000))],
    ['a bomb that is not', gzipSync(new Uint8Array(5_000_000))],
  ])('%s stops at bodyBytesMax', async (_, bomb) => {
    await expect(decompress(bomb, 'gzip')).rejects.toMatchObject({
      code: 'request-too-large',
      message: expect.stringContaining('larger than 100000 bytes when decompressed'),
    });
  });

  test('JSON has a limit and a message of its own', async () => {
    const refused = decompress(gzipSync(new Uint8Array(5_000_000)), 'gzip', { isJson: true, bytesMax: 70_000 });
    await expect(refused).rejects.toMatchObject({
      code: 'request-too-large',
      message: expect.stringContaining('the JSON of the request is larger than 70000 bytes when decompressed'),
    });
  });

  test('at most the maximum are decompressed at once, and a caller that disconnects while waiting ends its own', async () => {
    const gate = new TurnGate(2);
    const bomb = gzipSync(new Uint8Array(5_000_000));
    const caller = new Cancellation();
    const unpack = (signal: BodyUnpacking['signal']) =>
      decompressInto(bomb, unpackingOf('gzip', { signal }), { ...parts, gate }, memoryOf(1e9));
    const all = [...Array.from({ length: 5 }, () => unpack(neverCancelled)), unpack(caller)];
    expect([gate.inside, gate.waiting]).toEqual([2, 4]);
    caller.cancel('cancelled');
    expect([gate.inside, gate.waiting]).toEqual([2, 3]);
    const codes = (await Promise.allSettled(all)).map(
      (each) => each.status === 'rejected' && inferenceErrorFrom(each.reason).code,
    );
    expect(codes).toEqual([...Array(5).fill('request-too-large'), 'cancelled']);
    expect([gate.inside, gate.waiting]).toEqual([0, 0]);
  });

  test('a caller that disconnects ends the decompression of its body', async () => {
    const caller = new Cancellation();
    const unpacking = unpackingOf('gzip', { signal: caller, bytesMax: 1e9 });
    const body = gzipSync(new Uint8Array(5_000_000));
    const unpacked = decompressInto(body, unpacking, parts, memoryOf(1e9));
    caller.cancel('cancelled');
    await expect(unpacked).rejects.toMatchObject({ code: 'cancelled' });
  });

  test.each([
    ['not packed at all', small, 'gzip'],
    ['cut short', gzipSync(small).subarray(0, 20), 'gzip'],
    ['cut short and large', gzipSync(large, { level: 0 }).subarray(0, 40_000), 'gzip'],
    ['with a broken checksum', Buffer.concat([gzipSync(small).subarray(0, -8), Buffer.alloc(8)]), 'gzip'],
    ['gzip named deflate', gzipSync(small), 'deflate'],
    ['deflate without its zlib frame', deflateRawSync(large), 'deflate'],
    ['empty', Buffer.alloc(0), 'gzip'],
  ] as const)('a body that is %s is refused', async (_, body, packing) => {
    await expect(decompress(body, packing)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining(`not valid ${packing} data`),
    });
  });

  test('codings are recognised by name, and others refused with the ones to use', () => {
    expect(requestPackingFrom(undefined)).toBeUndefined();
    expect(requestPackingFrom('identity')).toBeUndefined();
    expect(requestPackingFrom(' GZip ')).toBe('gzip');
    expect(requestPackingFrom('x-gzip')).toBe('gzip');
    expect(requestPackingFrom('deflate')).toBe('deflate');
    for (const other of ['br', 'zstd', 'gzip, deflate', 'gzip,gzip']) {
      expect(() => requestPackingFrom(other)).toThrow(/gzip, deflate or identity/);
    }
  });
});
