/**
 * The behaviour that callers rely on in every metadata store. An implementation is given as a way to make a fresh subject and
 * to open a store in it; the suite knows nothing of where that is.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { MetadataStore } from './metadata.ts';
import { entryTests } from './metadata-contract/entries.ts';
import { historyTests } from './metadata-contract/histories.ts';
import { leaseTests } from './metadata-contract/leases.ts';
import type { MetadataSubject, StoreHarness } from './metadata-contract/subject.ts';
import { watchTests } from './metadata-contract/watches.ts';

export type { MetadataSubject } from './metadata-contract/subject.ts';

export function describeMetadataStore(name: string, makeSubject: () => Promise<MetadataSubject>): void {
  describe(`${name} keeps the metadata contract`, () => {
    let subject: MetadataSubject;
    let store: MetadataStore;
    beforeEach(async () => {
      subject = await makeSubject();
      store = await subject.open();
    });
    afterEach(async () => {
      await store.close();
      await subject.dispose();
    });
    const bench: StoreHarness = {
      get subject() {
        return subject;
      },
      get store() {
        return store;
      },
      reopen: async () => {
        await store.close();
        store = await subject.open();
        return store;
      },
    };

    describe('entries', () => entryTests(bench));
    describe('watches', () => watchTests(bench));
    describe('leases', () => leaseTests(bench));
    describe('histories', () => historyTests(bench));
  });
}
