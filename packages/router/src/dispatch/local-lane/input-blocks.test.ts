import { Arena } from '@millrace/shared-memory';
import { expect, test } from 'vitest';
import { InputBlocks } from './input-blocks.ts';

function blocksUnderTest(bytesMax = 4096) {
  const memory = new Uint8Array(8192).subarray(1024, 5120);
  const arena = new Arena(memory);
  let freed = 0;
  const blocks = new InputBlocks(arena, { memory, bytesMax, isPoisoned: true, onFreed: () => freed++ });
  const lend = (bytes: number) => {
    const region = blocks.lend(bytes);
    if (region === undefined) throw new Error(`no room for ${bytes} bytes`);
    return region;
  };
  return { memory, arena, blocks, lend, freedCount: () => freed };
}

test('requests hold at most their part of the memory', () => {
  const { blocks, lend } = blocksUnderTest(1024);
  const first = lend(640);
  expect(blocks.lend(512)).toBeUndefined();
  const second = lend(384);
  expect(blocks.lentBytes).toBe(1024);
  first.release();
  second.release();
  expect(blocks.lentBytes).toBe(0);
  expect(lend(1024).bytes).toHaveLength(1024);
});

test('inputs that lie side by side are joined, in the order of their addresses only', () => {
  const { memory, blocks, lend } = blocksUnderTest();
  const [first, second, third] = [lend(128), lend(128), lend(128)].map(({ bytes }) => bytes) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const joined = blocks.join([first, second, third]);
  expect(joined?.bytes).toHaveLength(384);
  expect([joined?.bytes.buffer, joined?.bytes.byteOffset, joined?.offset]).toEqual([memory.buffer, 1024, 0]);
  expect(blocks.join([second, third])?.offset).toBe(128);
  expect(blocks.join([second, first])).toBeUndefined();
  expect(blocks.join([first, third])).toBeUndefined();
  // A part of a block has nothing beside it.
  expect(blocks.join([first.subarray(0, 100), second])).toBeUndefined();
  expect(blocks.join([first.subarray(64), second])).toBeUndefined();
  expect(blocks.join([new Uint8Array(128), second])).toBeUndefined();
  expect(blocks.join([])).toBeUndefined();
});

test('inputs of one request are joined with what is between them', () => {
  const { blocks, lend } = blocksUnderTest();
  lend(64);
  const { bytes } = lend(300);
  const joined = blocks.join([bytes.subarray(0, 100), bytes.subarray(103, 203), bytes.subarray(203, 300)]);
  expect([joined?.offset, joined?.bytes.length]).toEqual([64, 300]);
  expect(blocks.join([bytes.subarray(0, 100), bytes.subarray(90, 203)])).toBeUndefined();
});

test('memory is free, and overwritten, when neither its request nor a batch holds it', () => {
  const { arena, blocks, lend, freedCount } = blocksUnderTest();
  const [first, second] = [lend(128), lend(128)];
  first.bytes.fill(1);
  second.bytes.fill(2);
  const batch = blocks.join([first.bytes, second.bytes]);
  const again = blocks.join([second.bytes]);
  first.release();
  second.release();
  expect([freedCount(), arena.lentRegions]).toEqual([0, 2]);
  expect(lend(128).bytes.byteOffset).toBe(1024 + 256);
  batch?.release();
  expect(freedCount()).toBe(1);
  expect([first.bytes[0], second.bytes[0]]).toEqual([0xdb, 2]);
  again?.release();
  expect([freedCount(), second.bytes[0]]).toEqual([2, 0xdb]);
  expect(() => again?.release()).toThrow('released twice');
  expect(() => first.release()).toThrow('released twice');
});
