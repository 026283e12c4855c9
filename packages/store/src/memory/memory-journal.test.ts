import { describeJournal } from '../journal-contract.ts';
import { HeldStoreClock } from '../testing/held-clock.ts';
import { openMemoryJournal } from './memory-journal.ts';

describeJournal('memory', async () => {
  const clock = new HeldStoreClock();
  return {
    open: async (bounds) => openMemoryJournal({ bounds, clock }),
    passTime: async (ms) => clock.pass(ms),
    now: () => clock.now(),
    isDurable: false,
    dispose: async () => {},
  };
});
