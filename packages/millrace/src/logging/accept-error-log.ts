import type { Logger } from './logger.ts';

/** A server at its limit may fail to accept thousands of connections a second; at most one line is logged in this time. */
export const acceptErrorPauseMs = 10_000;

/** Logs that connections could not be accepted: the first time at once, then their number at intervals. */
export function acceptErrorLog(logger: Logger, now: () => number): (error: Error) => void {
  let count = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    count += 1;
    if (now() - saidAt < acceptErrorPauseMs) return;
    saidAt = now();
    const code = (error as NodeJS.ErrnoException).code ?? error.message;
    const advice = code === 'EMFILE' ? '; raise the limit of open files (ulimit -n) or lower http.connectionsMax' : '';
    logger.warn({ code, connections: count }, `connections could not be accepted${advice}`);
    count = 0;
  };
}
