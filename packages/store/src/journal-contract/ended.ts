/** Logs of ended streams: how long their entries stay. */
import { expect, test } from 'vitest';
import { created, entriesOf, type JournalHarness, shownLog, taken } from './journal-subject.ts';

/** Entries stay at least so long after a start. */
const startGraceMs = 10_000;

export function endedTests(harness: JournalHarness): void {
  /** Time passes, and what is due then is done. */
  const pass = async (ms: number): Promise<void> => {
    await harness.subject.passTime(ms);
    await harness.journal.list();
  };

  test('the entries stay as long as was said, and the id until the log expires', async () => {
    const { journal, subject } = harness;
    const entriesExpireAtMs = subject.now() + 60_000;
    const log = await created(journal, 's');
    await log.append(entriesOf('one', 'two'));
    expect((await journal.list()).map((summary) => summary.entriesExpireAtMs)).toEqual([undefined]);
    await log.close({ entriesExpireAtMs, expiresAtMs: subject.now() + 600_000 });
    const before = journal.usage().bytes;
    await pass(59_000);
    expect(await journal.list()).toMatchObject([{ stream: 's', entriesExpireAtMs, last: 2 }]);
    expect(shownLog(await journal.peek('s'))).toBe('0 [] one two');
    await pass(5000);
    await pass(5000);
    expect(shownLog(await journal.peek('s'))).toBe('2 []');
    expect(journal.usage().bytes).toBeLessThan(before);
    expect(await journal.takeOver('s', 'b', { create: true, expectedEpoch: 0 })).toBeUndefined();
    await pass(600_000);
    await pass(5000);
    expect(journal.usage()).toMatchObject({ logs: 0, bytes: 0 });
  });

  test('an owner keeps them, whatever the time is', async () => {
    const { journal, subject } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('one'));
    await log.close({ entriesExpireAtMs: subject.now() + 20_000 });
    const next = await taken(journal, 's');
    await pass(120_000);
    await pass(5000);
    expect(shownLog(await journal.peek('s'))).toBe('0 [] one');
    await next.close();
    await pass(5000);
    await pass(5000);
    expect(shownLog(await journal.peek('s'))).toBe('1 []');
  });

  test('many of them are dropped soon', async () => {
    const { journal, subject } = harness;
    await pass(startGraceMs);
    const logs = await Promise.all(Array.from({ length: 600 }, (_, index) => created(journal, `s${index}`)));
    await Promise.all(logs.map((log) => log.append(entriesOf('one'))));
    await Promise.all(logs.map((log) => log.close({ entriesExpireAtMs: subject.now() + 1000 })));
    await pass(5000);
    for (let sweep = 0; sweep < 3; sweep++) await pass(100);
    expect((await journal.list()).every(({ base }) => base === 1)).toBe(true);
  });

  test('a start of the journal leaves some time to ask for them', async () => {
    const { journal, subject } = harness;
    if (!subject.isDurable) return;
    const log = await created(journal, 's');
    await log.append(entriesOf('one'));
    await log.close({ entriesExpireAtMs: subject.now() + 1000 });
    await harness.reopen();
    await pass(startGraceMs - 1000);
    expect(await harness.journal.list()).toMatchObject([{ last: 1, base: 0, entriesExpireAtMs: expect.any(Number) }]);
    await pass(5000);
    await pass(5000);
    expect(shownLog(await harness.journal.peek('s'))).toBe('1 []');
  });

  test('since when a stream has no client is found by the next owner', async () => {
    const { journal, subject } = harness;
    const log = await created(journal, 's');
    await log.append(entriesOf('one'));
    expect(log.idle).toBeUndefined();
    log.noteIdle({ sinceMs: 1234.5, isExtended: false });
    const next = await taken(journal, 's');
    expect(next.idle).toEqual({ sinceMs: 1234.5, isExtended: false });
    next.noteIdle({ sinceMs: 2345, isExtended: true });
    await next.append(entriesOf('two'));
    const reopened = subject.isDurable ? await harness.reopen() : journal;
    const last = await taken(reopened, 's');
    expect(last.idle).toEqual({ sinceMs: 2345, isExtended: true });
    // A former owner changes nothing.
    next.noteIdle(undefined);
    last.noteIdle(undefined);
    last.noteIdle({ sinceMs: 1, isExtended: false });
    last.noteIdle(undefined);
    expect((await taken(reopened, 's')).idle).toBeUndefined();
  });
}
