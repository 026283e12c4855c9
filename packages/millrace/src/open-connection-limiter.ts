/** The connection limiter of the process: one limit for all ports, within the limit of open files. */
import { type AddressRanges, ConnectionLimiter, resolveHttpLimits } from '@millrace/http';
import type { Config } from './config/fields.ts';
import type { Logger } from './logging/logger.ts';
import { refusedConnectionLog } from './logging/refused-connection-log.ts';
import { fittingConnections, type OpenFiles, readOpenFiles, reservedDescriptors } from './open-file-limit.ts';

export interface ConnectionLimiterParts {
  readonly config: Pick<Config, 'http'>;
  readonly trustedProxies: AddressRanges;
  /** How many workers there are now. */
  readonly workers: () => number;
  readonly logger: Logger;
  /** The system's unless given. */
  readonly openFiles?: OpenFiles | undefined;
}

/** Throws a `ConfigError` where the limit of open files leaves no room for connections. */
export function openConnectionLimiter({
  config,
  trustedProxies,
  workers,
  logger,
  ...given
}: ConnectionLimiterParts): ConnectionLimiter {
  const { connectionsMax: wanted, connectionsPerAddressMax, handshakesMax, handshakesPerAddressMax } = config.http;
  const limits = resolveHttpLimits({
    connectionsMax: wanted,
    connectionsPerAddressMax,
    handshakesMax,
    handshakesPerAddressMax,
  });
  const openFiles = given.openFiles ?? readOpenFiles();
  const filesMax = openFiles?.max ?? Number.POSITIVE_INFINITY;
  const connectionsMax =
    openFiles === undefined ? wanted : fittingConnections(wanted, limits.operatorConnections, openFiles);
  if (connectionsMax < wanted) {
    logger.warn(
      { openFilesMax: filesMax, wanted, connectionsMax },
      'http.connectionsMax lowered to fit the limit of open files; raise ulimit -n to serve more connections',
    );
  }
  // A low limit is shared by many addresses too, unless an operator has said how.
  const isDefault = connectionsPerAddressMax === resolveHttpLimits({}).connectionsPerAddressMax;
  const shareMax = isDefault ? Math.max(1, Math.floor(connectionsMax / 4)) : connectionsMax;
  const perAddressMax = Math.min(limits.connectionsPerAddressMax, shareMax);
  return new ConnectionLimiter(
    { ...limits, connectionsMax, connectionsPerAddressMax: perAddressMax },
    {
      trustedProxies,
      onRefused: refusedConnectionLog(logger, () => performance.now()),
      // Ports of operators may exceed this by the connections that are reserved for them.
      descriptorsMax: () => filesMax - reservedDescriptors(workers()) - limits.operatorConnections,
    },
  );
}
