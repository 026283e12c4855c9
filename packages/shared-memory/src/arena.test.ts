import { expect, test, vi } from 'vitest';
import { Arena } from './arena.ts';

test('regions are parts of the arena at the offset they name', () => {
  const memory = new Uint8Array(1024);
  const arena = new Arena(memory);
  arena.takeRegion(10);
  const region = arena.takeRegion(100);
  region?.bytes.fill(7);
  expect(region?.bytes.length).toBe(100);
  expect(memory.subarray(region?.offset, (region?.offset ?? 0) + 100).every((byte) => byte === 7)).toBe(true);
  expect(memory.filter((byte) => byte === 7).length).toBe(100);
});

test('a full arena gives nothing, and a release makes room', () => {
  const arena = new Arena(new Uint8Array(256));
  const first = arena.takeRegion(200);
  expect(arena.takeRegion(1)).toBeUndefined();
  first?.release();
  expect(arena.takeRegion(256)?.offset).toBe(0);
});

test('the other side releases by offset, once', () => {
  const arena = new Arena(new Uint8Array(256));
  const region = arena.takeRegion(64);
  arena.releaseAt(region?.offset ?? -1);
  expect(arena.lentRegions).toBe(0);
  expect(arena.lentBytes).toBe(0);
  expect(() => region?.release()).toThrow(/released before/);
});

test('an arena knows its own regions from those of others', () => {
  const arena = new Arena(new Uint8Array(256));
  arena.takeRegion(64);
  const region = arena.takeRegion(64);
  expect(arena.offsetOf(region ?? {})).toBe(64);
  expect(arena.offsetOf(new Arena(new Uint8Array(64)).takeRegion(1) ?? {})).toBeUndefined();
  expect(arena.offsetOf({ bytes: new Uint8Array(1), offset: 0, release: () => {} })).toBeUndefined();
});

test('nothing more is given back where the system takes nothing', () => {
  vi.useFakeTimers();
  try {
    const arena = new Arena(new Uint8Array(8 * 4096));
    const discard = vi.fn(() => false);
    arena.giveBackUnused({ pageBytes: 4096, discard }, 0);
    arena.takeRegion(8192)?.release();
    vi.advanceTimersByTime(600_000);
    expect(discard.mock.calls).toEqual([[0, 8192]]);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
