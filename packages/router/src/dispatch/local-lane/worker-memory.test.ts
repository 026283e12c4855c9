import { MappingPool } from '@millrace/shared-memory';
import { describe, expect, test, vi } from 'vitest';
import { WorkerMemory } from './worker-memory.ts';

const bytesMax = 2 * 65_536;
const mustNotFail = (reason: string): never => {
  throw new Error(reason);
};

function memoryUnderTest() {
  const released: number[] = [];
  const memory = new WorkerMemory(new MappingPool(), bytesMax, (offset) => released.push(offset), mustNotFail);
  return { memory, released };
}

const isShared = (bytes: Uint8Array): boolean => bytes.buffer.byteLength === bytesMax;

describe.runIf(process.platform === 'linux')('WorkerMemory', () => {
  test('lends ordinary memory until the worker has mapped the shared memory', () => {
    const { memory } = memoryUnderTest();
    expect(isShared(memory.lend(10_000).bytes)).toBe(false);
    memory.share();
    const region = memory.lend(10_000);
    expect(isShared(region.bytes)).toBe(true);
    expect(memory.offsetOf(region)).toBe(0);
    expect(memory.offsetOf(memory.lend(100))).toBeUndefined();
    memory.close();
  });

  test('gives back what was not needed for half a minute, until it is closed', () => {
    vi.useFakeTimers();
    const { memory } = memoryUnderTest();
    memory.share();
    const needed = memory.lend(8192);
    const burst = memory.lend(8192);
    needed.bytes.fill(1);
    burst.bytes.fill(2);
    burst.release();
    vi.advanceTimersByTime(25_000);
    expect(burst.bytes[0]).toBe(2);
    vi.advanceTimersByTime(60_000);
    expect([needed.bytes[0], burst.bytes[0]]).toEqual([1, 0]);
    expect(vi.getTimerCount()).toBe(1);
    memory.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test('finds outputs in the second half and nowhere else', () => {
    const { memory, released } = memoryUnderTest();
    expect(memory.takeOutput(0, 64)).toBeUndefined();
    memory.share();
    const output = memory.takeOutput(128, 64);
    expect(output?.bytes.byteOffset).toBe(65_536 + 128);
    expect(memory.takeOutput(65_536 - 64, 64)).toBeDefined();
    expect(memory.takeOutput(65_536 - 64, 65)).toBeUndefined();
    output?.release();
    expect(released).toEqual([128]);
    expect(() => output?.release()).toThrow(/released twice/);
    memory.close();
  });

  test('after close held regions stay readable, and the memory is freed when the last one is released', () => {
    const { memory, released } = memoryUnderTest();
    memory.share();
    const input = memory.lend(5000);
    const output = memory.takeOutput(0, 4);
    output?.bytes.fill(7);
    memory.close();
    expect(isShared(memory.lend(10_000).bytes)).toBe(false);
    expect([...(output?.bytes ?? [])]).toEqual([7, 7, 7, 7]);
    output?.release();
    expect([...(output?.bytes ?? [])]).toEqual([7, 7, 7, 7]);
    input.release();
    memory.discardIfUnused();
    expect([...(output?.bytes ?? [])]).toEqual([0, 0, 0, 0]);
    expect(released).toEqual([]);
  });

  test('without shared memory there is no descriptor to inherit', () => {
    const memory = new WorkerMemory(new MappingPool(), 0, () => {}, mustNotFail);
    expect(memory.bytes).toBe(0);
    expect(memory.descriptor).toBeUndefined();
    memory.share();
    expect(memory.lend(100_000).bytes.length).toBe(100_000);
    expect(memory.takeOutput(0, 0)).toBeUndefined();
    memory.close();
  });
});
