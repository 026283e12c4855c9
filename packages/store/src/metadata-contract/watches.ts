import { expect, test, vi } from 'vitest';
import { type StoreHarness, shownEntry, Told, valueBytes } from './subject.ts';

export function watchTests(bench: StoreHarness): void {
  test('a watch reports existing entries, then changes, and only below its prefix', async () => {
    const { store } = bench;
    await store.put('m/b', valueBytes('1'));
    await store.put('m/a', valueBytes('1'));
    await store.put('n/a', valueBytes('1'));
    const told = new Told();
    await store.watch('m/', told.listener);
    expect(told.lines).toEqual(['m/a=1', 'm/b=1']);
    await store.put('m/c', valueBytes('1'));
    await store.put('n/b', valueBytes('1'));
    await store.remove('m/a');
    await vi.waitFor(() => expect(told.lines).toEqual(['m/a=1', 'm/b=1', 'm/c=1', 'm/a gone']), { timeout: 20_000 });
  });

  test('a change has been reported when the promise of its writer resolves', async () => {
    const { store } = bench;
    const told = new Told();
    await store.watch('', told.listener);
    await store.put('a', valueBytes('1'));
    expect(told.lines).toEqual(['a=1']);
    await store.remove('a');
    expect(told.lines).toEqual(['a=1', 'a gone']);
  });

  test('writes that change nothing are not reported', async () => {
    const { store } = bench;
    await store.put('a', valueBytes('1'));
    const told = new Told();
    await store.watch('', told.listener);
    await store.put('a', valueBytes('2'), { expected: 'absent' });
    await store.remove('a', 999_999);
    await store.remove('b');
    expect(told.lines).toEqual(['a=1']);
  });

  test('a watch that begins among many changes reports none twice and ends with the last', async () => {
    const { store } = bench;
    const writes: Promise<unknown>[] = [];
    const watches: Told[] = [];
    for (let round = 0; round < 30; round++) {
      writes.push(store.put(`k/${round % 3}`, valueBytes(`${round}`)));
      if (round % 7 === 3) writes.push(store.remove(`k/${round % 3}`));
      if (round % 5 !== 0) continue;
      const told = new Told();
      watches.push(told);
      writes.push(store.watch('', told.listener));
    }
    await Promise.all(writes);
    const last = (await store.list('')).map(shownEntry);
    for (const { lines, revisions } of watches) {
      await vi.waitFor(() => expect(stateAfter(lines)).toEqual(last), { timeout: 20_000 });
      expect(new Set(revisions).size).toBe(revisions.length);
    }
  });

  test('after existing entries, revisions are reported in increasing order', async () => {
    const { store } = bench;
    const told = new Told();
    await store.watch('', told.listener);
    await Promise.all(Array.from({ length: 50 }, (_, index) => store.put(`k${index % 4}`, valueBytes(`${index}`))));
    expect(told.revisions).toEqual([...told.revisions].sort((a, b) => a - b));
    expect(told.lines).toHaveLength(50);
  });

  test('a watch that was stopped is told nothing more, also from within', async () => {
    const { store } = bench;
    const told = new Told();
    const stop = await store.watch('', told.listener);
    await store.put('a', valueBytes('1'));
    stop();
    stop();
    await store.put('a', valueBytes('2'));
    expect(told.lines).toEqual(['a=1']);
  });

  test('listeners may write', async () => {
    const { store } = bench;
    const copies: Promise<unknown>[] = [];
    await store.watch('from/', (change) => {
      if (change.kind === 'put') copies.push(store.put(`to/${change.entry.key}`, change.entry.value));
    });
    await store.put('from/a', valueBytes('1'));
    await store.put('from/b', valueBytes('2'));
    await Promise.all(copies);
    expect((await store.list('to/')).map(shownEntry)).toEqual(['to/from/a=1', 'to/from/b=2']);
  });
}

/** What somebody believes who heard these lines. */
function stateAfter(lines: readonly string[]): readonly string[] {
  const state = new Map<string, string>();
  for (const line of lines) {
    const key = line.split(/=| gone/)[0] as string;
    if (line.endsWith(' gone')) state.delete(key);
    else state.set(key, line);
  }
  return [...state.values()].sort();
}
