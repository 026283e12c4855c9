import { describeMetadataStore } from '../metadata-contract.ts';
import { HeldStoreClock } from '../testing/held-clock.ts';
import { openMemoryStore } from './memory-store.ts';

describeMetadataStore('memory', async () => {
  const clock = new HeldStoreClock();
  return {
    open: () => openMemoryStore(clock),
    passTime: async (ms) => clock.pass(ms),
    isDurable: false,
    dispose: async () => {},
  };
});
