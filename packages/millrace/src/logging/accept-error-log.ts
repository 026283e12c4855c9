import type { Logger } from './logger.ts';

/** A server at its limit refuses thousands a second; one line in this time tells as much. */
export const acceptErrorPauseMs = 10_000;

/** Logs that connections could not be accepted: the first time at once, then how many it were, now and then. */
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
