import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryOverheadBytes, StoredResults } from './stored-results.ts';

/** Room for `entries` results of `bytes` each. */
function storeFor(entries: number, bytes: number, ageMsMax = Number.POSITIVE_INFINITY): StoredResults<string, string> {
  return new StoredResults({ bytesMax: entries * (bytes + entryOverheadBytes), entryBytesMax: bytes, ageMsMax });
}

test('a result over the limit of one entry, or of the cache, is not cached', () => {
  const limits = { bytesMax: 2000, entryBytesMax: 1000, ageMsMax: Number.POSITIVE_INFINITY };
  expect(new StoredResults(limits).keeps(1000)).toBe(true);
  expect(new StoredResults(limits).keeps(1001)).toBe(false);
  expect(new StoredResults({ ...limits, bytesMax: 1000 }).keeps(1000)).toBe(false);
  expect(new StoredResults({ ...limits, bytesMax: 0 }).keeps(0)).toBe(false);
});

test('the least recently used entry is evicted first, and a lookup counts as use', () => {
  const store = storeFor(2, 10);
  store.put('a', 'o', 'm', 'A', 10, 0);
  store.put('b', 'o', 'm', 'B', 10, 0);
  expect(store.take('a', 0)).toBe('A');
  store.put('c', 'o', 'm', 'C', 10, 0);
  expect(store.take('b', 0)).toBeUndefined();
  expect(store.take('a', 0)).toBe('A');
  expect(store.take('c', 0)).toBe('C');
  expect(store.evictions).toBe(1);
});

test('an entry older than the limit counts as absent, however often it was used', () => {
  const store = storeFor(2, 10, 100);
  store.put('a', 'o', 'm', 'A', 10, 0);
  expect(store.take('a', 100)).toBe('A');
  expect(store.take('a', 101)).toBeUndefined();
  expect(store).toMatchObject({ entries: 0, bytes: 0, evictions: 1 });
});

test('a flush removes the matching groups and returns how many entries there were', () => {
  const store = storeFor(3, 10);
  store.put('a', 'o', 'm', 'A', 10, 0);
  store.put('b', 'o', 'n', 'B', 10, 0);
  store.put('c', 'o', 'm', 'C', 10, 0);
  expect(store.flush((group) => group === 'm')).toBe(2);
  expect(store.take('b', 0)).toBe('B');
  expect(store.flush(() => true)).toBe(1);
  expect(store).toMatchObject({ entries: 0, bytes: 0, evictions: 0 });
});

test('an owner that floods the cache evicts its own entries once it has its share', () => {
  const store = storeFor(8, 10);
  for (let index = 0; index < 4; index++) store.put(`quiet ${index}`, 'quiet', 'm', 'Q', 10, 0);
  for (let index = 0; index < 100; index++) store.put(`loud ${index}`, 'loud', 'm', 'L', 10, 0);
  for (let index = 0; index < 4; index++) expect(store.take(`quiet ${index}`, 0)).toBe('Q');
  expect(store.take('loud 99', 0)).toBe('L');
  expect(store).toMatchObject({ entries: 8, owners: 2 });
});

test('an owner that came first keeps no more than its share once another one needs room', () => {
  const store = storeFor(8, 10);
  for (let index = 0; index < 8; index++) store.put(`first ${index}`, 'first', 'm', 'F', 10, 0);
  for (let index = 0; index < 8; index++) store.put(`second ${index}`, 'second', 'm', 'S', 10, 0);
  const kept = (name: string) =>
    Array.from({ length: 8 }, (_, index) => store.take(`${name} ${index}`, 0)).filter(Boolean);
  expect([kept('first').length, kept('second').length]).toEqual([4, 4]);
});

test('of many owners with one result each, the least recently used is evicted', () => {
  const store = storeFor(200, 10);
  for (let index = 0; index < 1000; index++) store.put(`key ${index}`, `owner ${index}`, 'm', 'V', 10, 0);
  expect(store).toMatchObject({ entries: 200, owners: 200, evictions: 800 });
  expect(store.take('key 799', 0)).toBeUndefined();
  expect(store.take('key 800', 0)).toBe('V');
  store.flush(() => true);
  expect(store).toMatchObject({ entries: 0, owners: 0, bytes: 0 });
});

test('whatever several owners put and take, none that is within its share loses to one that is over its own', () => {
  const step = fc.record({
    owner: fc.constantFrom('a', 'b', 'c'),
    key: fc.nat(40),
    isTaken: fc.boolean(),
    bytes: fc.nat(600),
  });
  const bytesMax = 12_000;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const store = new StoredResults<string, string>({ bytesMax, entryBytesMax: 600, ageMsMax: Infinity });
      const held = new Map<string, { owner: string; bytes: number }>();
      const bytesOf = (owner: string) =>
        [...held.values()].reduce((sum, one) => sum + (one.owner === owner ? one.bytes : 0), 0);
      for (const { owner, key, isTaken, bytes } of steps) {
        const name = `${owner} ${key}`;
        if (isTaken) {
          expect(store.take(name, 0) !== undefined).toBe(held.has(name));
          continue;
        }
        held.delete(name);
        const before = new Map(['a', 'b', 'c'].map((one) => [one, bytesOf(one)]));
        const owners = new Set([...[...held.values()].map((one) => one.owner), owner]).size;
        const cost = bytes + entryOverheadBytes;
        const isOver = (before.get(owner) as number) + cost > bytesMax / owners;
        store.put(name, owner, 'm', name, bytes, 0);
        for (const other of held.keys()) {
          const isKept = store.has(other);
          const of = held.get(other) as { owner: string };
          const wasWithin = (before.get(of.owner) as number) <= bytesMax / owners;
          expect(isKept || of.owner === owner || !isOver || !wasWithin || before.get(owner) === 0).toBe(true);
          if (!isKept) held.delete(other);
        }
        held.set(name, { owner, bytes: cost });
        expect(store.bytes).toBe([...held.values()].reduce((sum, one) => sum + one.bytes, 0));
        expect(store.bytes).toBeLessThanOrEqual(bytesMax);
      }
    }),
    { seed: 55, numRuns: 300 },
  );
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

test('after any puts, lookups and flushes it equals a simple reference cache, within its bytes', () => {
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
          store.put(taken.key, 'o', 'm', `value ${index}`, taken.bytes, now);
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
