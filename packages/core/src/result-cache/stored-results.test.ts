import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryOverheadBytes, StoredResults } from './stored-results.ts';

/** Room for `entries` results of `bytes` each. */
function storeFor(entries: number, bytes: number, ageMsMax = Number.POSITIVE_INFINITY): StoredResults<string, string> {
  return new StoredResults({ bytesMax: entries * (bytes + entryOverheadBytes), entryBytesMax: bytes, ageMsMax });
}

test('a result over the limit of one entry, or over the whole, is not kept', () => {
  const limits = { bytesMax: 2000, entryBytesMax: 1000, ageMsMax: Number.POSITIVE_INFINITY };
  expect(new StoredResults(limits).keeps(1000)).toBe(true);
  expect(new StoredResults(limits).keeps(1001)).toBe(false);
  expect(new StoredResults({ ...limits, bytesMax: 1000 }).keeps(1000)).toBe(false);
  expect(new StoredResults({ ...limits, bytesMax: 0 }).keeps(0)).toBe(false);
});

test('what was used longest ago makes room first, and being asked for is being used', () => {
  const store = storeFor(2, 10);
  store.put('a', 'm', 'A', 10, 0);
  store.put('b', 'm', 'B', 10, 0);
  expect(store.take('a', 0)).toBe('A');
  store.put('c', 'm', 'C', 10, 0);
  expect(store.take('b', 0)).toBeUndefined();
  expect(store.take('a', 0)).toBe('A');
  expect(store.take('c', 0)).toBe('C');
  expect(store.evictions).toBe(1);
});

test('an entry older than the limit counts as absent, however often it was used', () => {
  const store = storeFor(2, 10, 100);
  store.put('a', 'm', 'A', 10, 0);
  expect(store.take('a', 100)).toBe('A');
  expect(store.take('a', 101)).toBeUndefined();
  expect(store).toMatchObject({ entries: 0, bytes: 0, evictions: 1 });
});

test('a flush forgets the groups that are meant and says how many entries there were', () => {
  const store = storeFor(3, 10);
  store.put('a', 'm', 'A', 10, 0);
  store.put('b', 'n', 'B', 10, 0);
  store.put('c', 'm', 'C', 10, 0);
  expect(store.flush((group) => group === 'm')).toBe(2);
  expect(store.take('b', 0)).toBe('B');
  expect(store.flush(() => true)).toBe(1);
  expect(store).toMatchObject({ entries: 0, bytes: 0, evictions: 0 });
});

/** The same in the plainest way: a list, most recently used last. */
class PlainStore {
  list: { key: string; value: string; bytes: number; at: number }[] = [];

  take(key: string, now: number, ageMsMax: number): string | undefined {
    const found = this.list.find((entry) => entry.key === key);
    this.list = this.list.filter((entry) => entry !== found);
    if (found === undefined || now - found.at > ageMsMax) return undefined;
    this.list.push(found);
    return found.value;
  }

  put(key: string, value: string, bytes: number, now: number, bytesMax: number): void {
    this.list = this.list.filter((entry) => entry.key !== key);
    while (this.bytes + bytes > bytesMax) this.list.shift();
    this.list.push({ key, value, bytes, at: now });
  }

  get bytes(): number {
    return this.list.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

test('whatever is put, taken and flushed, it holds what the plainest cache holds, within its bytes', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('put' as const), key, bytes: fc.nat(1500), pause: fc.nat(20) }),
    fc.record({ kind: fc.constant('take' as const), key, pause: fc.nat(20) }),
  );
  const bytesMax = 3000;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.constantFrom(40, Number.POSITIVE_INFINITY), (steps, ageMsMax) => {
      const store = new StoredResults<string, string>({ bytesMax, entryBytesMax: 1200, ageMsMax });
      const plain = new PlainStore();
      let now = 0;
      for (const [index, taken] of steps.entries()) {
        now += taken.pause;
        if (taken.kind === 'take') {
          expect(store.take(taken.key, now)).toBe(plain.take(taken.key, now, ageMsMax));
        } else if (store.keeps(taken.bytes)) {
          store.put(taken.key, 'm', `value ${index}`, taken.bytes, now);
          plain.put(taken.key, `value ${index}`, taken.bytes + entryOverheadBytes, now, bytesMax);
        }
        expect(store.bytes).toBe(plain.bytes);
        expect(store.bytes).toBeLessThanOrEqual(bytesMax);
        expect(store.entries).toBe(plain.list.length);
      }
    }),
    { seed: 36, numRuns: 300 },
  );
});
