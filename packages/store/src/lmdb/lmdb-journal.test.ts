import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeJournal } from '../journal-contract.ts';
import { HeldStoreClock } from '../testing/held-clock.ts';
import { openLmdbJournal } from './lmdb-journal.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-journal-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const freshPath = (): string => join(root, randomUUID());

for (const durability of ['process', 'power'] as const) {
  describeJournal(`lmdb, ${durability}`, async () => {
    const clock = new HeldStoreClock();
    const path = freshPath();
    return {
      open: (bounds) => openLmdbJournal({ path, durability, bounds, clock }),
      passTime: async (ms) => clock.pass(ms),
      now: () => clock.now(),
      isDurable: true,
      dispose: async () => rmSync(path, { recursive: true, force: true }),
    };
  });
}
