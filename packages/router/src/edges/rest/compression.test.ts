import { deflateRawSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { MemoryRefused, type RequestMemory } from '@millrace/http';
import { describe, expect, test } from 'vitest';
import { compress } from './compress.ts';
import { decompress as decompressInto, requestPackingFrom } from './decompress.ts';

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
    ready: () => Promise.resolve(),
    give: () => {},
    hasRoomFor: () => true,
  };
}

const limits = { bodyBytesMax: 100_000, zlibSyncBytesMax: 1000 };
const decompress = (packed: Uint8Array, packing: 'deflate' | 'gzip', within: typeof limits) =>
  decompressInto(packed, packing, within, memoryOf(1_000_000));
const small = Buffer.from('a small body');
const large = Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * index * 7) & 0xff));

describe('requests', () => {
  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('%s unpacks at once and off the event loop', async (packing, pack) => {
    expect(Buffer.compare(await decompress(pack(small), packing, limits), small)).toBe(0);
    const packed = pack(large, { level: 0 });
    expect(packed.byteLength).toBeGreaterThan(limits.zlibSyncBytesMax);
    expect(Buffer.compare(await decompress(packed, packing, limits), large)).toBe(0);
  });

  test('a small body that unpacks to much is still unpacked, off the event loop', async () => {
    const packed = gzipSync(new Uint8Array(90_000));
    expect(packed.byteLength).toBeLessThan(limits.zlibSyncBytesMax);
    expect((await decompress(packed, 'gzip', limits)).byteLength).toBe(90_000);
  });

  test.each([
    ['at once', gzipSync(new Uint8Array(5_000))],
    ['off the event loop', gzipSync(new Uint8Array(90_000))],
  ])('what is unpacked %s counts against the memory of the request', async (_, packed) => {
    await expect(decompressInto(packed, 'gzip', limits, memoryOf(4_000))).rejects.toBeInstanceOf(MemoryRefused);
    const memory = memoryOf(90_000);
    const body = await decompressInto(packed, 'gzip', limits, memory);
    expect(memory.heldBytes).toBe(body.byteLength);
  });

  test('unpacking goes on only while the request need not wait for memory', async () => {
    const memory = memoryOf(1_000_000);
    const waits: (() => void)[] = [];
    const ready = () => new Promise<void>((resolve) => waits.push(resolve));
    const packed = gzipSync(new Uint8Array(900_000));
    const within = { bodyBytesMax: 1_000_000, zlibSyncBytesMax: 10 };
    const body = decompressInto(packed, 'gzip', within, { ...memory, hold: (bytes) => memory.hold(bytes), ready });
    while (memory.heldBytes < 900_000) {
      await new Promise(setImmediate);
      expect(memory.heldBytes).toBeLessThanOrEqual(waits.length * 65_536);
      waits.at(-1)?.();
    }
    expect((await body).byteLength).toBe(900_000);
  });

  test.each([
    ['a bomb small enough to unpack at once', gzipSync(new Uint8Array(500_000))],
    ['a bomb that is not', gzipSync(new Uint8Array(5_000_000))],
  ])('%s stops at bodyBytesMax', async (_, bomb) => {
    await expect(decompress(bomb, 'gzip', limits)).rejects.toMatchObject({
      code: 'request-too-large',
      message: expect.stringContaining('larger than 100000 bytes when decompressed'),
    });
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
    await expect(decompress(body, packing, limits)).rejects.toMatchObject({
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

describe('answers', () => {
  test.each([
    ['gzip', gunzipSync],
    ['deflate', inflateSync],
  ] as const)('%s packs pieces in order, small and large', async (coding, unpack) => {
    const options = { zlibSyncBytesMax: 1000, compressionLevel: 1 };
    const now = compress([small, new Uint8Array(0), small], small.byteLength * 2, coding, options);
    expect(now).toBeInstanceOf(Uint8Array);
    expect(unpack(now as Uint8Array).toString()).toBe('a small bodya small body');
    const later = await compress([small, large], small.byteLength + large.byteLength, coding, options);
    expect(Buffer.compare(unpack(Buffer.concat(later as Uint8Array[])), Buffer.concat([small, large]))).toBe(0);
  });
});
