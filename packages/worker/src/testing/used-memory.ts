import { HeapRegion } from '@millrace/protocol';
import { GuardedOutputMemory } from '../guarded-output-memory.ts';
import { randomBitsFrom } from '../random-bits.ts';

/** What another caller left in the memory that a run is lent. */
export const usedByte = 0xab;

/** Lends memory as a busy server does: another caller's bytes are still in it. Remembers what it lent. */
export function usedMemory(seed = 1): { readonly memory: GuardedOutputMemory; readonly lent: readonly HeapRegion[] } {
  const lent: HeapRegion[] = [];
  const lend = (bytes: number): HeapRegion => {
    const region = new HeapRegion(new Uint8Array(bytes).fill(usedByte));
    lent.push(region);
    return region;
  };
  return { memory: new GuardedOutputMemory(lend, randomBitsFrom(seed)), lent };
}
