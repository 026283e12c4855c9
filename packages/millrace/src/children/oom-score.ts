import { writeFileSync } from 'node:fs';

/**
 * The most there is. The kernel ends the process with the highest sum of this and its share of memory in thousandths: with
 * anything less, a router that holds much would go before a small worker.
 */
const childOomScore = 1000;

/** When memory runs out the kernel is to end this process, which is replaced, and not the router. */
export function offerToOomKiller(pid: number): void {
  try {
    // Raising it needs no privilege.
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(childOomScore));
  } catch {
    // Another system than Linux, or the process has ended already.
  }
}
