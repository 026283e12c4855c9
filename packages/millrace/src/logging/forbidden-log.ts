import type { Logger } from './logger.ts';

/** A page may try thousands of times a second; at most one line is logged in this time. */
export const forbiddenPauseMs = 10_000;

/** Logs that requests were refused for their host or their page: the first at once, then their number at intervals. */
export function forbiddenLog(logger: Logger, now: () => number): (reason: string) => void {
  let count = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  return (reason) => {
    count += 1;
    if (now() - saidAt < forbiddenPauseMs) return;
    saidAt = now();
    logger.warn({ requests: count, reason }, 'requests refused for their host or origin');
    count = 0;
  };
}
