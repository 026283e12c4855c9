import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** The lowest priority that there is. */
const nicenessMax = 19;

/**
 * Makes the kernel prefer this process to the child where both want the same core: a router that waits behind runs of its
 * models reads no request, of whatever model. The child may use all the time that the router does not need.
 */
export function giveWay(pid: number, niceness: number): void {
  if (niceness === 0) return;
  try {
    const lowered = Math.min(nicenessMax, getPriority() + niceness);
    // Lowering it needs no privilege. Threads inherit it from the one that starts them, which is the first of a new process.
    setPriority(pid, lowered);
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), lowered);
  } catch {
    // Another system than Linux, or the process has ended already.
  }
}
