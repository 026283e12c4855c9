/** Why a server could not start, in one line that says what to do. */
import type { Config } from '../config/fields.ts';

export function startFailureText(error: unknown, config: Config): string {
  const { code, port, message } = (error ?? {}) as { code?: unknown; port?: unknown; message?: unknown };
  const { grpcPort, metricsPort } = config.server;
  const flag = port === metricsPort ? '--metrics-port' : port === grpcPort ? '--grpc-port' : '--http-port';
  const place = `port ${String(port)} on ${config.server.host}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${place} is in use: stop what listens there, or take another one with ${flag} (0 takes any free one)`;
    case 'EACCES':
      return typeof port === 'number'
        ? `may not listen on ${place}: ports below 1024 need privileges; take a higher one with ${flag}`
        : `permission denied: ${String(message)}; make the path readable for this user`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${config.server.host} is no address of this machine: give one with --host (0.0.0.0 means all of them)`;
    default:
      return typeof message === 'string' && message !== '' ? message : String(error);
  }
}
