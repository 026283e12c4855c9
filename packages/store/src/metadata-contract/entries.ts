import { expect, test } from 'vitest';
import { keyBytesMax, valueBytesMax } from '../metadata.ts';
import { type StoreHarness, shownEntry, valueBytes, valueText } from './subject.ts';

export function entryTests(bench: StoreHarness): void {
  test('get returns what was put, with its revision', async () => {
    const { store } = bench;
    expect(await store.get('a/b')).toBeUndefined();
    const revision = await store.put('a/b', valueBytes('one'));
    expect(revision).toBeGreaterThan(0);
    expect(await store.get('a/b')).toEqual({ key: 'a/b', value: valueBytes('one'), revision });
    expect(await store.get('a')).toBeUndefined();
  });

  test('revisions increase over the whole store', async () => {
    const { store } = bench;
    const first = (await store.put('a', valueBytes('1'))) as number;
    const second = (await store.put('b', valueBytes('1'))) as number;
    await store.remove('a');
    const third = (await store.put('a', valueBytes('2'))) as number;
    expect(second).toBeGreaterThan(first);
    expect(third).toBeGreaterThan(second + 1);
  });

  test('a put that expects absence succeeds only there', async () => {
    const { store } = bench;
    const revision = await store.put('a', valueBytes('1'), { expected: 'absent' });
    expect(await store.put('a', valueBytes('2'), { expected: 'absent' })).toBeUndefined();
    expect(await store.get('a')).toEqual({ key: 'a', value: valueBytes('1'), revision });
    await store.remove('a');
    expect(await store.put('a', valueBytes('3'), { expected: 'absent' })).toBeGreaterThan(revision as number);
  });

  test('a put that expects a revision succeeds only at it', async () => {
    const { store } = bench;
    expect(await store.put('a', valueBytes('0'), { expected: 1 })).toBeUndefined();
    const first = (await store.put('a', valueBytes('1'))) as number;
    const second = (await store.put('a', valueBytes('2'), { expected: first })) as number;
    expect(await store.put('a', valueBytes('3'), { expected: first })).toBeUndefined();
    expect(valueText((await store.get('a'))?.value)).toBe('2');
    await store.remove('a');
    expect(await store.put('a', valueBytes('4'), { expected: second })).toBeUndefined();
    expect(await store.get('a')).toBeUndefined();
  });

  test('a remove that expects a revision succeeds only at it', async () => {
    const { store } = bench;
    const first = (await store.put('a', valueBytes('1'))) as number;
    const second = (await store.put('a', valueBytes('2'))) as number;
    expect(await store.remove('a', first)).toBe(false);
    expect(valueText((await store.get('a'))?.value)).toBe('2');
    expect(await store.remove('a', second)).toBe(true);
    expect(await store.get('a')).toBeUndefined();
    expect(await store.remove('a')).toBe(false);
  });

  test('of many writes that expect the same revision exactly one succeeds', async () => {
    const { store } = bench;
    const revision = (await store.put('a', valueBytes('start'))) as number;
    const attempts = Array.from({ length: 20 }, (_, index) =>
      store.put('a', valueBytes(`${index}`), { expected: revision }).then((won) => (won === undefined ? [] : [index])),
    );
    const winners = (await Promise.all(attempts)).flat();
    expect(winners).toHaveLength(1);
    expect(valueText((await store.get('a'))?.value)).toBe(`${winners[0]}`);
  });

  test('a list has whole parts only, in the order of the bytes of the keys', async () => {
    const { store } = bench;
    for (const key of ['a/z', 'a/ä', 'a/\u{ff5e}', 'a/\u{1f600}', 'a/b/c', 'a', 'ab/c'])
      await store.put(key, valueBytes('.'));
    expect((await store.list('a/')).map(({ key }) => key)).toEqual([
      'a/b/c',
      'a/z',
      'a/ä',
      'a/\u{ff5e}',
      'a/\u{1f600}',
    ]);
    expect((await store.list('')).map(({ key }) => key)[0]).toBe('a');
    expect(await store.list('nothing/')).toEqual([]);
  });

  test('bytes handed in and out are copies', async () => {
    const { store } = bench;
    const value = valueBytes('one');
    const writing = store.put('a', value);
    value.fill(0);
    await writing;
    const got = (await store.get('a'))?.value as Uint8Array;
    expect(valueText(got)).toBe('one');
    got.fill(0);
    expect(valueText((await store.get('a'))?.value)).toBe('one');
  });

  test('keys and values of the largest and the smallest size are kept', async () => {
    const { store } = bench;
    const key = 'ü'.repeat(keyBytesMax / 2);
    const value = new Uint8Array(valueBytesMax).fill(7);
    await store.put(key, value);
    await store.put('k', new Uint8Array());
    expect(Buffer.compare((await store.get(key))?.value as Uint8Array, value)).toBe(0);
    expect((await store.get('k'))?.value).toEqual(new Uint8Array());
  });

  test('keys and values over the limits are refused with their error codes', async () => {
    const { store } = bench;
    const invalid = expect.objectContaining({ name: 'StoreError', code: 'key-invalid' });
    const keys = ['', '/a', 'a/', 'a//b', 'a\0b', '\ud800', 'ü'.repeat(keyBytesMax / 2 + 1)];
    for (const key of keys) {
      await expect(store.put(key, valueBytes('1')), JSON.stringify(key)).rejects.toEqual(invalid);
      await expect(store.get(key)).rejects.toEqual(invalid);
      await expect(store.remove(key)).rejects.toEqual(invalid);
    }
    for (const prefix of ['a', '/', 'a//']) {
      await expect(store.list(prefix), prefix).rejects.toEqual(invalid);
      await expect(store.watch(prefix, () => {})).rejects.toEqual(invalid);
    }
    const tooLarge = expect.objectContaining({ code: 'value-too-large', message: expect.stringContaining('524288') });
    await expect(store.put('a', new Uint8Array(valueBytesMax + 1))).rejects.toEqual(tooLarge);
    expect(await store.list('')).toEqual([]);
  });

  test('a closed store says so, and closing it again does nothing', async () => {
    const { store } = bench;
    await store.close();
    await store.close();
    const closed = expect.objectContaining({ code: 'store-closed' });
    await expect(store.get('a')).rejects.toEqual(closed);
    await expect(store.put('a', valueBytes('1'))).rejects.toEqual(closed);
    await expect(store.watch('', () => {})).rejects.toEqual(closed);
  });

  test('writes requested before a close are carried out', async () => {
    const writing = bench.store.put('a', valueBytes('1'));
    await bench.store.close();
    expect(await writing).toBeGreaterThan(0);
  });

  test('a durable store has it all when it is opened again, and revisions go on rising', async () => {
    const { store, subject } = bench;
    const first = (await store.put('a', valueBytes('1'))) as number;
    const last = (await store.put('b', valueBytes('2'))) as number;
    const again = await bench.reopen();
    const kept = (await again.list('')).map(shownEntry);
    expect(kept).toEqual(subject.isDurable ? ['a=1', 'b=2'] : []);
    const next = (await again.put('a', valueBytes('3'), { expected: subject.isDurable ? first : 'absent' })) as number;
    expect(next).toBeGreaterThan(subject.isDurable ? last : 0);
  });
}
