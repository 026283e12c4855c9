import { trimAllocator } from '@millrace/shared-memory';
import { IdleMemory, idleCheckMs } from './idle-memory.ts';

/** For as long as this process runs. Without the `gc` of V8, which the supervisor lets a router have, only the allocator's memory is given back. */
export function watchIdleMemory(): void {
  const { gc } = globalThis;
  const memory = new IdleMemory({
    now: () => performance.now(),
    busyMs: () => performance.eventLoopUtilization().active,
    residentBytes: () => process.memoryUsage.rss(),
    collect: (generations) => {
      if (generations === 'all') gc?.();
      else gc?.({ type: 'minor' });
    },
    trim: trimAllocator,
  });
  setInterval(() => memory.look(), idleCheckMs).unref();
}
