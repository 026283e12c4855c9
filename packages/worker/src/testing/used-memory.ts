import { HeapRegion } from '@millrace/protocol';
import { GuardedOutputMemory } from '../guarded-output-memory.ts';
import { randomBitsFrom } from '../random-bits.ts';

/** The content that another caller left in the memory that is lent to a run. */
export const usedByte = 0xab;

/** Lends memory as a busy server does: it still has another caller's bytes. Records what it lent. */
export function usedMemory(
  seed = 1,
  givenBytesMax = 0,
): { readonly memory: GuardedOutputMemory; readonly lent: readonly HeapRegion[] } {
  const lent: HeapRegion[] = [];
  const lend = (bytes: number): HeapRegion => {
    const region = new HeapRegion(new Uint8Array(bytes).fill(usedByte));
    lent.push(region);
    return region;
  };
  return { memory: new GuardedOutputMemory(lend, randomBitsFrom(seed), givenBytesMax), lent };
}
