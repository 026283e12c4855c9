import { deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Compression } from '../answer-packing.ts';
import { unlimitedMemory } from '../wire/memory.ts';
import { accepts, decompressMessage, isWorthCompressing, mustReadCompression } from './compression.ts';
import { resolveRpcLimits } from './config.ts';
import type { RpcError } from './rpc-error.ts';
import { MessageUnpacking, type UnpackOwner } from './unpacking.ts';

const limits = resolveRpcLimits({ receiveBytesMax: 100_000, compressBytesMin: 10, compressBytesMax: 1000 });

const plenty: UnpackOwner = {
  peer: { owner: 'a' },
  memory: unlimitedMemory.connection('a').lease({ onMemory: () => {} }),
  holdMore: () => true,
  isStarved: false,
  isGivenUp: false,
  refuse: () => {},
};

function decompressed(
  bytes: Uint8Array,
  compression: Compression,
  with_ = limits,
  owner: UnpackOwner = plenty,
  unpacking = new MessageUnpacking(2),
): Promise<Uint8Array | RpcError> {
  return new Promise((resolve) =>
    decompressMessage(bytes, compression, with_, unpacking, owner, (error, message) => resolve(error ?? message)),
  );
}

test.each([
  ['gzip', 'gzip', true],
  ['identity, gzip;q=0.5', 'gzip', true],
  ['identity,gzip;q=0', 'gzip', false],
  ['gzip; q=0.000', 'gzip', false],
  ['deflate', 'gzip', false],
  [undefined, 'gzip', false],
] as const)('the list %j and %s: %s', (list, compression, isAccepted) => {
  expect(accepts(list, compression)).toBe(isAccepted);
});

test('only offered compressions are read', () => {
  expect([undefined, '', 'identity', 'gzip', 'deflate'].map((name) => mustReadCompression(name))).toEqual([
    undefined,
    undefined,
    undefined,
    'gzip',
    'deflate',
  ]);
  expect(() => mustReadCompression('br')).toThrow(expect.objectContaining({ code: 'unimplemented' }));
});

test('messages are compressed within their sizes, and left alone outside', () => {
  expect([9, 10, 1000, 1001].map((bytes) => isWorthCompressing(bytes, limits))).toEqual([false, true, true, false]);
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
] as const)('%s is read, at once and off the event loop', async (compression, pack) => {
  const message = Buffer.from('some words, some more words');
  expect(await decompressed(pack(message), compression)).toEqual(message);
  const small = resolveRpcLimits({ decompressSyncBytesMax: 0 });
  let isSync = true;
  const later = decompressed(pack(message), compression, small).then((plain) => {
    expect(isSync).toBe(false);
    return plain;
  });
  isSync = false;
  expect(await later).toEqual(message);
});

test.each([0, 16 * 1024])(
  'a message that unpacks to more than the limit is refused (at once up to %i bytes)',
  async (syncMax) => {
    const with_ = resolveRpcLimits({ receiveBytesMax: 1000, decompressSyncBytesMax: syncMax });
    expect(await decompressed(gzipSync(Buffer.alloc(1000)), 'gzip', with_)).toHaveLength(1000);
    expect(await decompressed(gzipSync(Buffer.alloc(1_000_000)), 'gzip', with_)).toMatchObject({
      code: 'resource_exhausted',
    });
  },
);

test('bytes that are no such data are the caller’s fault', async () => {
  expect(await decompressed(Buffer.from('words'), 'gzip')).toMatchObject({ code: 'invalid_argument' });
  expect(await decompressed(gzipSync('words').subarray(0, -4), 'gzip')).toMatchObject({ code: 'invalid_argument' });
});

test('zero bytes are an empty message', async () => {
  expect(await decompressed(new Uint8Array(0), 'gzip')).toHaveLength(0);
});

test('decompressed bytes are counted piece by piece', async () => {
  const with_ = resolveRpcLimits({ receiveBytesMax: 1_000_000 });
  const packed = gzipSync(Buffer.alloc(1_000_000));
  const pieces: number[] = [];
  const owner: UnpackOwner = { ...plenty, holdMore: (bytes) => pieces.push(bytes) > 0 };
  expect(await decompressed(packed, 'gzip', with_, owner)).toHaveLength(1_000_000);
  expect(pieces.reduce((sum, bytes) => sum + bytes)).toBe(1_000_000);
  expect(Math.max(...pieces)).toBeLessThanOrEqual(65_536);
});

test('a caller that holds its share is refused instead of blocking others', async () => {
  const with_ = resolveRpcLimits({ receiveBytesMax: 10_000_000 });
  const unpacking = new MessageUnpacking(1);
  const packed = gzipSync(Buffer.alloc(1_000_000));
  await new Promise<void>((resolve) => {
    const owner: UnpackOwner = { ...plenty, isStarved: true, refuse: resolve };
    decompressMessage(packed, 'gzip', with_, unpacking, owner, () => expect.unreachable());
  });
  expect(await decompressed(packed, 'gzip', with_, plenty, unpacking)).toHaveLength(1_000_000);
});

test('decompression stops once there is no memory', async () => {
  const with_ = resolveRpcLimits({ receiveBytesMax: 10_000_000 });
  let held = 0;
  const refused = new Promise<void>((resolve) => {
    const memory: UnpackOwner = {
      ...plenty,
      holdMore: (bytes) => {
        held += bytes;
        if (held <= 300_000) return true;
        resolve();
        return false;
      },
    };
    decompressMessage(gzipSync(Buffer.alloc(10_000_000)), 'gzip', with_, new MessageUnpacking(1), memory, () =>
      expect.unreachable(),
    );
  });
  await refused;
  await new Promise((resolve) => setImmediate(resolve));
  expect(held).toBeLessThan(300_000 + 2 * 65_536);
});

test('a small message that expands a lot is decompressed off the event loop', async () => {
  const with_ = resolveRpcLimits({ receiveBytesMax: 10_000_000, decompressSyncBytesMax: 1024 });
  const packed = gzipSync(Buffer.alloc(500_000));
  expect(packed.length).toBeLessThan(1024);
  let isSync = true;
  const later = decompressed(packed, 'gzip', with_).then((plain) => {
    expect(isSync).toBe(false);
    return plain;
  });
  isSync = false;
  expect(await later).toHaveLength(500_000);
});

test('at most unpackingsMax are decompressed at once, owners take turns, and aborted ones are skipped', async () => {
  const with_ = resolveRpcLimits({ receiveBytesMax: 10_000_000 });
  const packed = gzipSync(Buffer.alloc(1_000_000));
  const unpacking = new MessageUnpacking(1);
  const done: string[] = [];
  const unpack = async (owner: string, more: Partial<UnpackOwner> = {}): Promise<void> => {
    await decompressed(packed, 'gzip', with_, { ...plenty, peer: { owner }, ...more }, unpacking);
    done.push(owner);
  };
  const all = [unpack('a'), unpack('a'), unpack('a'), unpack('b')];
  void unpack('c', { isGivenUp: true });
  expect(unpacking.inside).toBe(1);
  await Promise.all(all);
  expect(done).toEqual(['a', 'a', 'b', 'a']);
  expect(unpacking.inside).toBe(0);
});
