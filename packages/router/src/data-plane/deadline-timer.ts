import type { Clock } from './clock.ts';

/** The longest delay of a timer, 24 days: nobody waits for a later deadline. */
const timerMsMax = 2 ** 31 - 1;

/** Calls back when the deadline passes; returns a function that cancels it. */
export function atDeadline(clock: Clock, deadlineAt: number, callback: () => void): () => void {
  const leftMs = deadlineAt === Number.POSITIVE_INFINITY ? deadlineAt : Math.max(0, deadlineAt - clock.now());
  return leftMs > timerMsMax ? doNothing : clock.after(leftMs, callback);
}

function doNothing(): void {}
