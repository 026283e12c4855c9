/**
 * The behaviour every metadata store owes its callers. An implementation is given as a way to make a fresh place and to
 * open a store in it; the suite knows nothing of where that is.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { MetadataStore } from './metadata.ts';
import { entryTests } from './metadata-contract/entries.ts';
import { historyTests } from './metadata-contract/histories.ts';
import { leaseTests } from './metadata-contract/leases.ts';
import type { MetadataSubject, StoreHarness } from './metadata-contract/subject.ts';
import { watchTests } from './metadata-contract/watches.ts';

export type { MetadataSubject } from './metadata-contract/subject.ts';

export function describeMetadataStore(name: string, makePlace: () => Promise<MetadataSubject>): void {
  describe(`${name} keeps the metadata contract`, () => {
    let place: MetadataSubject;
    let store: MetadataStore;
    beforeEach(async () => {
      place = await makePlace();
      store = await place.open();
    });
    afterEach(async () => {
      await store.close();
      await place.dispose();
    });
    const bench: StoreHarness = {
      get place() {
        return place;
      },
      get store() {
        return store;
      },
      reopen: async () => {
        await store.close();
        store = await place.open();
        return store;
      },
    };

    describe('entries', () => entryTests(bench));
    describe('watches', () => watchTests(bench));
    describe('leases', () => leaseTests(bench));
    describe('histories', () => historyTests(bench));
  });
}
