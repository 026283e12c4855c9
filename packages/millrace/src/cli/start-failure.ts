/** Why a server could not start, in one line that says what to do. */
import type { Config } from '../config/fields.ts';

export function startFailureText(error: unknown, config: Config): string {
  const { code, port, message, path } = (error ?? {}) as Record<string, unknown>;
  const { flag, host } = listenerOf(port, config);
  const address = `port ${String(port)} on ${host}`;
  if (typeof path === 'string' && path === config.management.socket) return String(message);
  switch (code) {
    case 'EADDRINUSE':
      return `${address} is in use: stop the program that listens there, or choose another port with ${flag} (0 takes any free one)`;
    case 'EACCES':
      return typeof port === 'number'
        ? `may not listen on ${address}: ports below 1024 need privileges; choose a higher one with ${flag}`
        : `permission denied: ${String(message)}; make the path readable for this user`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine: give one with --host (0.0.0.0 means all of them)`;
    default:
      return typeof message === 'string' && message !== '' ? message : String(error);
  }
}

/** The listener of a port, and the flag that changes it. */
function listenerOf(port: unknown, { server, management }: Config): { readonly flag: string; readonly host: string } {
  if (port === server.metricsPort) return { flag: '--metrics-port', host: server.host };
  if (port === server.grpcPort) return { flag: '--grpc-port', host: server.host };
  if (port === management.port) return { flag: '--management-port', host: management.host };
  return { flag: '--http-port', host: server.host };
}
