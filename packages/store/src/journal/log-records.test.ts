import { describe, expect, test } from 'vitest';
import { LogRecords } from './log-records.ts';
import { PackedKeys } from './packed-keys.ts';
import type { RecordKey } from './record-format.ts';

/** As a stream makes them that commits every output alone, among others that do the same. */
function keysOf(count: number, from = 1): RecordKey[] {
  return Array.from({ length: count }, (_, index) => ({
    position: 3_000_000 + 100 * index,
    life: 12_345,
    first: from + index,
    count: 1,
    bytes: 75 + (index % 9),
  }));
}

describe('packed keys', () => {
  test('are what they were', () => {
    const largest = { position: 2 ** 48 - 1, life: 7, first: 2 ** 48 - 1, count: 2 ** 32 - 1, bytes: 2 ** 32 - 1 };
    const keys: RecordKey[] = [
      { position: 1, life: 7, first: 1, count: 1, bytes: 0 },
      { position: 2, life: 7, first: 2, count: 127, bytes: 127 },
      { position: 130, life: 7, first: 129, count: 128, bytes: 128 },
      // Entries are missing before it, and it begins before the end of the one before, as in a damaged log.
      { position: 131, life: 7, first: 1_000_000, count: 2, bytes: 16_384 },
      { position: 132, life: 7, first: 5, count: 1, bytes: 2 ** 31 },
      largest,
    ];
    const packed = new PackedKeys(7);
    for (const key of keys) packed.push(key);
    expect(packed.all()).toEqual(keys);
    packed.shrink();
    packed.push({ ...largest, first: 1, count: 1 });
    expect(packed.all().slice(0, -1)).toEqual(keys);
  });

  test('take less than eight bytes each, so that an ended stream keeps next to nothing', () => {
    const packed = new PackedKeys(12_345);
    for (const key of keysOf(10_000)) packed.push(key);
    packed.shrink();
    expect(packed.byteLength).toBeLessThan(8 * 10_000);
  });
});

describe('records of a log', () => {
  test.each([0, 1, 31, 32, 33, 500])('%i of them are all there, packed or not', (count) => {
    const keys = keysOf(count);
    const records = new LogRecords();
    expect(records.isEmpty).toBe(true);
    for (const key of keys) records.push(key);
    expect(records.all()).toEqual(keys);
    records.pack();
    expect(records.all()).toEqual(keys);
    expect(records.isEmpty).toBe(count === 0);
    const [next] = keysOf(1, count + 1) as [RecordKey];
    const later = { ...next, position: 4_000_000 };
    records.push(later);
    expect(records.all()).toEqual([...keys, later]);
  });

  test.each([0, 1, 40, 99, 100, 1000])('those up to entry %i are taken, and the others stay', (entry) => {
    const keys = keysOf(100);
    const records = new LogRecords();
    for (const key of keys) records.push(key);
    const taken = records.takeUpTo(entry);
    expect(taken).toEqual(keys.slice(0, entry));
    expect(records.all()).toEqual(keys.slice(entry));
    expect(records.isEmpty).toBe(entry >= 100);
  });

  test('a record with an entry after the number stays', () => {
    const records = new LogRecords();
    records.push({ position: 1, life: 1, first: 1, count: 3, bytes: 10 });
    expect(records.takeUpTo(2)).toEqual([]);
    expect(records.takeUpTo(3)).toHaveLength(1);
  });
});
