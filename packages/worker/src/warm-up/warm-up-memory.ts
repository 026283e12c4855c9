import { HeapRegion } from '@millrace/protocol';
import { GuardedOutputMemory } from '../guarded-output-memory.ts';
import { randomBitsFrom } from '../random-bits.ts';

/** Memory for warm-up runs, whose answers nobody reads; unwritten outputs are detected here too. */
export function warmUpMemory(): GuardedOutputMemory {
  return new GuardedOutputMemory((bytes) => new HeapRegion(new Uint8Array(bytes)), randomBitsFrom(1));
}
