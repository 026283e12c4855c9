import { writeFileSync } from 'node:fs';

/**
 * The maximum. The kernel kills the process with the highest sum of this and its share of memory in thousandths: with
 * less, a router that uses much memory would be killed before a small worker.
 */
const childOomScore = 1000;

/** Makes the kernel kill this process, which is replaced, and not the router when memory runs out. */
export function offerToOomKiller(pid: number): void {
  try {
    // Raising it needs no privilege.
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(childOomScore));
  } catch {
    // Another system than Linux, or the process has ended already.
  }
}
