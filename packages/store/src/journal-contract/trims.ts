import { expect, test } from 'vitest';
import { created, entriesOf, type JournalHarness, shownLog, taken } from './journal-subject.ts';

export function trimTests(harness: JournalHarness): void {
  test('a trim drops entries and puts a snapshot in their place; numbers go on', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('1', '2', '3'));
    await log.append(entriesOf('4', '5'));
    log.trim(3, entriesOf('opening', 'checkpoint'));
    expect(await log.append(entriesOf('6'))).toBe(6);
    expect(shownLog(await journal.peek('s'))).toBe('3 [opening checkpoint] 4 5 6');
    log.trim(6, entriesOf('later'));
    await log.append([]);
    expect(shownLog(await journal.peek('s'))).toBe('6 [later]');
    expect(await log.append(entriesOf('7'))).toBe(7);
    expect(shownLog(await taken(journal, 's'))).toBe('6 [later] 7');
  });

  test('a trim may end between entries of one append, and may have no snapshot', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('1', '2', '3', '4'));
    log.trim(1, entriesOf('x'));
    log.trim(3, []);
    await log.append([]);
    expect(shownLog(await journal.peek('s'))).toBe('3 [] 4');
    const again = harness.subject.isDurable ? await harness.reopen() : journal;
    const owner = await taken(again, 's');
    expect(shownLog(owner)).toBe('3 [] 4');
    expect(await owner.append(entriesOf('5'))).toBe(5);
    expect(shownLog(await again.peek('s'))).toBe('3 [] 4 5');
  });

  test('a snapshot may be replaced without dropping entries', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('1', '2'));
    log.trim(1, entriesOf('x'));
    log.trim(1, entriesOf('y'));
    await log.append([]);
    expect(shownLog(await journal.peek('s'))).toBe('1 [y] 2');
  });

  test('a trim beyond what is committed, or behind an earlier one, is a mistake of the caller', async () => {
    const log = await created(harness.journal, 's');
    await log.append(entriesOf('1', '2', '3'));
    expect(() => log.trim(4, [])).toThrow('beyond the last committed entry 3');
    log.trim(2, []);
    expect(() => log.trim(1, [])).toThrow('after one to 2');
  });

  test('what the log held at the take-over is released by the first trim', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('1', '2'));
    const next = await taken(journal, 's');
    expect(shownLog(next)).toBe('0 [] 1 2');
    next.trim(1, entriesOf('x'));
    expect(next.entries).toEqual([]);
  });

  test('many appends and trims leave no more than what was not trimmed', async () => {
    const { journal } = harness;
    const log = await created(journal, 's');
    const empty = journal.usage().bytes;
    for (let number = 1; number <= 2000; number++) {
      const appended = log.append(entriesOf(`${number}`));
      if (number % 100 !== 0) continue;
      await appended;
      log.trim(number, entriesOf(`up to ${number}`));
    }
    await log.append([]);
    expect(shownLog(await journal.peek('s'))).toBe('2000 [up to 2000]');
    expect(journal.usage().bytes).toBeLessThan(empty + 200);
    const again = harness.subject.isDurable ? await harness.reopen() : journal;
    expect(shownLog(await taken(again, 's'))).toBe('2000 [up to 2000]');
    expect(again.usage().bytes).toBeLessThan(empty + 200);
  });
}
