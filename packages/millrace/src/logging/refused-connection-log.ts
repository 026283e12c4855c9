import type { ConnectionRefusal } from '@millrace/http';
import { acceptErrorPauseMs } from './accept-error-log.ts';
import type { Logger } from './logger.ts';

/** The setting an operator may change, by the limit that was reached. */
const settings: Readonly<Record<ConnectionRefusal, string>> = {
  connectionsMax: 'http.connectionsMax',
  connectionsPerAddressMax: 'http.connectionsPerAddressMax',
  descriptors: 'open files (ulimit -n)',
  handshakesMax: 'http.handshakesMax',
  handshakesPerAddressMax: 'http.handshakesPerAddressMax',
};

/**
 * Logs that connections were refused at a limit: the first time at once, then their number at intervals. Each
 * limit is logged separately, with the last address that was refused.
 */
export function refusedConnectionLog(
  logger: Logger,
  now: () => number,
): (refusal: ConnectionRefusal, address: string) => void {
  const told = new Map<ConnectionRefusal, { count: number; saidAt: number }>();
  return (refusal, address) => {
    let entry = told.get(refusal);
    if (entry === undefined) {
      entry = { count: 0, saidAt: Number.NEGATIVE_INFINITY };
      told.set(refusal, entry);
    }
    entry.count += 1;
    if (now() - entry.saidAt < acceptErrorPauseMs) return;
    entry.saidAt = now();
    logger.warn({ limit: settings[refusal], address, connections: entry.count }, 'connections refused at a limit');
    entry.count = 0;
  };
}
