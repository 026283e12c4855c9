import { HeapRegion } from '@millrace/protocol';
import { GuardedOutputMemory } from '../guarded-output-memory.ts';
import { randomBitsFrom } from '../random-bits.ts';

/** For runs whose answers nobody reads; what no run writes is found here too. */
export function warmUpMemory(): GuardedOutputMemory {
  return new GuardedOutputMemory((bytes) => new HeapRegion(new Uint8Array(bytes)), randomBitsFrom(1));
}
