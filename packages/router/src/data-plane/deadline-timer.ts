import type { Clock } from './clock.ts';

/** The longest delay a timer takes, 24 days: nobody waits for a deadline beyond. */
const timerMsMax = 2 ** 31 - 1;

/** Calls back when the deadline passes; returns the way to call it off. */
export function atDeadline(clock: Clock, deadlineAt: number, callback: () => void): () => void {
  const leftMs = deadlineAt === Number.POSITIVE_INFINITY ? deadlineAt : Math.max(0, deadlineAt - clock.now());
  return leftMs > timerMsMax ? doNothing : clock.after(leftMs, callback);
}

function doNothing(): void {}
