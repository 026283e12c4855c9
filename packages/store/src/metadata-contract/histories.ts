import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leaseMsMin, type MetadataLease } from '../metadata.ts';
import { type StoreHarness, valueBytes, valueText } from './subject.ts';

type Expectation = 'any' | 'absent' | 'present' | 'stale';

type Operation =
  | { readonly kind: 'put'; readonly key: number; readonly expects: Expectation; readonly isLeased: boolean }
  | { readonly kind: 'remove'; readonly key: number; readonly expects: Expectation }
  | { readonly kind: 'pass-half-a-life' }
  | { readonly kind: 'renew' };

const key = fc.integer({ min: 0, max: 3 });
const expects = fc.constantFrom<Expectation>('any', 'absent', 'present', 'stale');
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), key, expects, isLeased: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), key, expects }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'pass-half-a-life' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'renew' as const }) },
);

/** A simple reference store in memory that the real ones are compared with. */
class PlainStore {
  readonly entries = new Map<string, { value: string; revision: number; isLeased: boolean }>();
  /** Halves of its life that are left; 0: it has run out. */
  leaseHalves = 2;

  pass(): void {
    this.leaseHalves = Math.max(0, this.leaseHalves - 1);
    if (this.leaseHalves > 0) return;
    for (const [name, { isLeased }] of this.entries) if (isLeased) this.entries.delete(name);
  }

  renew(): boolean {
    if (this.leaseHalves > 0) this.leaseHalves = 2;
    return this.leaseHalves > 0;
  }

  expected(name: string, expectation: Expectation): number | 'absent' | undefined {
    const revision = this.entries.get(name)?.revision;
    if (expectation === 'any') return undefined;
    if (expectation === 'absent') return 'absent';
    return expectation === 'present' ? (revision ?? 1e9) : (revision ?? 0) + 1e6;
  }

  isAs(name: string, expected: number | 'absent' | undefined): boolean {
    return expected === undefined || (this.entries.get(name)?.revision ?? 'absent') === expected;
  }
}

export function historyTests(bench: StoreHarness): void {
  test('any operations in any order give the same result as a plain map', async () => {
    let run = 0;
    const history = fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
      run += 1;
      await compare(bench, `run-${run}/`, operations);
    });
    await fc.assert(history, { seed: 20_261, numRuns: 40 });
  });
}

async function compare(bench: StoreHarness, prefix: string, operations: readonly Operation[]): Promise<void> {
  const { store, subject } = bench;
  const plain = new PlainStore();
  const lease: MetadataLease = await store.grantLease(2 * leaseMsMin);
  const watched = new Map<string, string | undefined>();
  let last = 0;
  const stop = await store.watch(prefix, (change) => {
    const { revision, key: name } = change.kind === 'put' ? change.entry : change;
    expect(revision).toBeGreaterThan(last);
    last = revision;
    if (change.kind === 'put') watched.set(name, valueText(change.entry.value));
    else watched.delete(name);
  });
  for (const [step, one] of operations.entries()) {
    if (one.kind === 'pass-half-a-life') {
      plain.pass();
      await subject.passTime(leaseMsMin);
    } else if (one.kind === 'renew') {
      expect(await lease.renew()).toBe(plain.renew());
    } else {
      const name = `${prefix}${one.key}`;
      const expected = plain.expected(name, one.expects);
      if (one.kind === 'put') {
        const isLeased = one.isLeased && plain.leaseHalves > 0;
        const options = { ...(expected === undefined ? {} : { expected }), ...(isLeased ? { lease } : {}) };
        const revision = await store.put(name, valueBytes(`${step}`), options);
        expect(revision !== undefined).toBe(plain.isAs(name, expected));
        if (revision !== undefined) plain.entries.set(name, { value: `${step}`, revision, isLeased });
      } else {
        const revision = typeof expected === 'number' ? expected : undefined;
        const isThere = plain.entries.has(name) && plain.isAs(name, revision);
        expect(await store.remove(name, revision)).toBe(isThere);
        if (isThere) plain.entries.delete(name);
      }
    }
    const listed = (await store.list(prefix)).map((entry) => [entry.key, valueText(entry.value), entry.revision]);
    const known = [...plain.entries].map(([name, { value, revision }]) => [name, value, revision]);
    expect(listed).toEqual(known.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
    expect(watched).toEqual(new Map([...plain.entries].map(([name, { value }]) => [name, value])));
  }
  stop();
  await lease.revoke();
}
