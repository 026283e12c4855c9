import { expect, test } from 'vitest';
import type { Journal, StreamLog } from '../journal.ts';
import { storeRefusal } from '../testing/store-refusal.ts';
import { created, entriesOf, entry, type JournalHarness, shownLog, taken } from './journal-subject.ts';

export function logTests(harness: JournalHarness): void {
  test('entries are numbered from 1 and found again by the next owner', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    expect(shownLog(log)).toBe('0 []');
    expect(await log.append(entriesOf('opening'))).toBe(1);
    expect(await log.append(entriesOf('one', '', 'three'))).toBe(4);
    expect(shownLog(await taken(journal, 's'))).toBe('0 [] opening one  three');
  });

  test('appends in flight become durable in the order of the calls, each with its number', async () => {
    const { journal } = harness;
    const [first, second] = [await created(journal, 'first'), await created(journal, 'second')];
    const numbers: Promise<number>[] = [];
    const settled: string[] = [];
    for (let index = 1; index <= 50; index++) {
      for (const log of [first, second]) {
        const number = log.append(entriesOf(`${index}a`, `${index}b`));
        numbers.push(number);
        void number.then((last) => settled.push(`${log.stream} ${last}`));
      }
      if (index % 7 === 0) await first.append([]);
    }
    expect(await Promise.all(numbers)).toEqual(Array.from({ length: 100 }, (_, index) => 2 * (1 + (index >> 1))));
    const ofFirst = settled.filter((line) => line.startsWith('first'));
    expect(ofFirst).toEqual(Array.from({ length: 50 }, (_, index) => `first ${2 * (index + 1)}`));
    const { entries } = await taken(journal, 'second');
    expect(entries.map((bytes) => Buffer.from(bytes).toString())).toEqual(
      Array.from({ length: 50 }, (_, index) => [`${index + 1}a`, `${index + 1}b`]).flat(),
    );
  });

  test('an empty append resolves with the last number', async () => {
    const log = await created(harness.journal, 's');
    expect(await log.append([])).toBe(0);
    const both = [log.append(entriesOf('a')), log.append([])];
    expect(await Promise.all(both)).toEqual([1, 1]);
  });

  test('entries of every size come back as they were', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    const entries = [0, 1, 100, 2000, 4096, 70_000, 3_000_000].map((bytes) => new Uint8Array(bytes).fill(bytes % 251));
    for (const one of entries) void log.append([one]);
    await log.append(entries);
    const found = (await taken(journal, 's')).entries;
    expect(found.map((bytes) => bytes.length)).toEqual([...entries, ...entries].map((bytes) => bytes.length));
    for (const [index, bytes] of found.entries()) {
      expect(Buffer.compare(bytes, entries[index % entries.length] as Uint8Array)).toBe(0);
    }
  });

  test('peek reads without fencing; list and peek say who owns what', async () => {
    const { journal, subject } = harness;
    expect(await journal.peek('s')).toBeUndefined();
    const log = await created(journal, 's', 'router-1');
    await log.append(entriesOf('one', 'two'));
    await created(journal, 'a b/ü', 'router-2');
    const view = await journal.peek('s');
    expect(shownLog(view)).toBe('0 [] one two');
    expect(view).toMatchObject({ stream: 's', owner: 'router-1', epoch: log.epoch, last: 2 });
    expect(await log.append(entriesOf('three'))).toBe(3);
    const list = await journal.list();
    expect(list.map(({ stream, owner, last }) => [stream, owner, last])).toEqual([
      ['a b/ü', 'router-2', 0],
      ['s', 'router-1', 3],
    ]);
    expect(list[1]?.createdAtMs).toBeLessThanOrEqual(subject.now());
    expect(list[1]?.expiresAtMs).toBe(log.expiresAtMs);
    expect(journal.usage().logs).toBe(2);
    expect(journal.usage().bytes).toBe(list.reduce((sum, { bytes }) => sum + bytes, 0));
  });

  test('list shows the tag of a log from its first entry until nothing is left in it', async () => {
    const { journal, subject } = harness;
    const log = (await journal.takeOver('s', 'a', { create: true, tag: 'model:1' })) as StreamLog;
    const tagIn = async (of: Journal): Promise<string | undefined> => (await of.list())[0]?.tag;
    expect(await tagIn(journal)).toBe('');
    await log.append(entriesOf('one', 'two'));
    expect(await tagIn(journal)).toBe('model:1');
    log.trim(2, entriesOf('snapshot'));
    expect(await tagIn(journal)).toBe('model:1');
    const again = await harness.reopen();
    if (!subject.isDurable) return;
    expect(await tagIn(again)).toBe('model:1');
    const next = await taken(again, 's');
    expect((await again.peek('s'))?.tag).toBe('model:1');
    next.trim(2, []);
    await next.close();
    expect(await tagIn(again)).toBe('');
  });

  test('a tag that cannot be kept is refused', async () => {
    const creating = harness.journal.takeOver('s', 'a', { create: true, tag: 'a\0b' });
    await expect(creating).rejects.toEqual(storeRefusal('key-invalid', 'the tag "a\\u0000b" contains a NUL'));
  });

  test('a closed log has no owner and stays; a removed one is gone', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('one'));
    await log.close();
    await expect(log.append(entriesOf('two'))).rejects.toEqual(storeRefusal('journal-fenced', 'closed by its owner'));
    const again = await taken(journal, 's');
    expect(shownLog(again)).toBe('0 [] one');
    await again.close({ remove: true });
    expect(await journal.peek('s')).toBeUndefined();
    expect(await journal.takeOver('s', 'c')).toBeUndefined();
    expect(journal.usage()).toMatchObject({ logs: 0, bytes: 0 });
  });

  test('what was appended before a close of the log or the journal is durable', async () => {
    const log = await created(harness.journal, 's');
    const appended = log.append(entriesOf('one'));
    const closed = log.close();
    expect(await appended).toBe(1);
    await closed;
    const other = await taken(harness.journal, 's');
    const last = other.append(entriesOf('two'));
    const { journal } = harness;
    const reopened = harness.reopen();
    await expect(journal.takeOver('s', 'c')).rejects.toEqual(storeRefusal('store-closed', 'closed'));
    await expect(other.append([entry('three')])).rejects.toEqual(storeRefusal('store-closed', 'closed'));
    expect(await last).toBe(2);
    expect(shownLog(await (await reopened).peek('s'))).toBe(harness.subject.isDurable ? '0 [] one two' : 'none');
  });

  test('logs are there after a reopen, with their numbers and epochs', async () => {
    const { journal, subject } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('one', 'two', 'three'));
    log.trim(2, entriesOf('first'));
    await log.append(entriesOf('four'));
    const again = await harness.reopen();
    if (!subject.isDurable) {
      expect(await again.list()).toEqual([]);
      return;
    }
    const next = await taken(again, 's');
    expect(shownLog(next)).toBe('2 [first] three four');
    expect(next.epoch).toBeGreaterThan(log.epoch);
    expect(next.expiresAtMs).toBe(log.expiresAtMs);
    expect(await next.append(entriesOf('five'))).toBe(5);
  });

  test.each([
    ['', 'a', 'is empty'],
    ['x'.repeat(513), 'a', 'has 513 bytes'],
    ['a\0b', 'a', 'NUL'],
    ['\ud800', 'a', 'well-formed'],
    ['s', '', 'is empty'],
  ])('the id %j with the owner %j is refused', async (stream, owner, problem) => {
    const refusal = storeRefusal('key-invalid', problem);
    await expect(harness.journal.takeOver(stream, owner, { create: true })).rejects.toEqual(refusal);
  });

  test('a note is there until it is removed, also when the journal is opened again', async () => {
    const { journal, subject } = harness;
    expect(await journal.readNote('restores')).toBeUndefined();
    await journal.writeNote('restores', '{"of":"ä"}');
    await journal.writeNote('others', 'x');
    expect(await journal.readNote('restores')).toBe('{"of":"ä"}');
    expect(await journal.list()).toEqual([]);
    const next = await harness.reopen();
    expect(await next.readNote('others')).toBe(subject.isDurable ? 'x' : undefined);
    await next.writeNote('others', undefined);
    expect(await next.readNote('others')).toBeUndefined();
  });

  test('a log that is taken over unread can be emptied', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('one', 'two'));
    const next = (await journal.takeOver('s', 'b', { isUnread: true })) as StreamLog;
    expect([next.base, next.entries, next.snapshot]).toEqual([0, [], []]);
    const last = await next.append([]);
    expect(last).toBe(2);
    next.trim(last, entriesOf('instead'));
    await next.close();
    expect(shownLog(await journal.peek('s'))).toBe('2 [instead]');
  });
}
