/**
 * The behaviour that callers rely on in every journal. An implementation is given as a way to make a fresh subject and to open
 * a journal in it; the suite knows nothing of where that is.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Journal } from './journal.ts';
import { boundTests } from './journal-contract/bounds.ts';
import { endedTests } from './journal-contract/ended.ts';
import { fencingTests } from './journal-contract/fencing.ts';
import type { JournalHarness, JournalSubject } from './journal-contract/journal-subject.ts';
import { logTests } from './journal-contract/logs.ts';
import { shareTests } from './journal-contract/shares.ts';
import { trimTests } from './journal-contract/trims.ts';

export function describeJournal(name: string, makeSubject: () => Promise<JournalSubject>): void {
  describe(`${name} keeps the journal contract`, () => {
    let subject: JournalSubject;
    let journal: Journal;
    beforeEach(async () => {
      subject = await makeSubject();
      journal = await subject.open();
    });
    afterEach(async () => {
      await journal.close();
      await subject.dispose();
    });
    const harness: JournalHarness = {
      get subject() {
        return subject;
      },
      get journal() {
        return journal;
      },
      reopen: async (bounds) => {
        await journal.close();
        journal = await subject.open(bounds);
        return journal;
      },
    };

    describe('logs', () => logTests(harness));
    describe('fencing', () => fencingTests(harness));
    describe('trims', () => trimTests(harness));
    describe('bounds', () => boundTests(harness));
    describe('shares', () => shareTests(harness));
    describe('ended', () => endedTests(harness));
  });
}
