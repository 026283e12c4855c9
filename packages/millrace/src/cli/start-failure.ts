/** Why a server could not start, in one line that says what to do. */
import type { Config } from '../config/fields.ts';

export function startFailureText(error: unknown, config: Config): string {
  const { code, port, message, path } = (error ?? {}) as Record<string, unknown>;
  const { flag, host } = placeOf(port, config);
  const place = `port ${String(port)} on ${host}`;
  if (typeof path === 'string' && path === config.management.socket) return String(message);
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
      return `${host} is no address of this machine: give one with --host (0.0.0.0 means all of them)`;
    default:
      return typeof message === 'string' && message !== '' ? message : String(error);
  }
}

/** Whose port it is: what to change when it cannot be had. */
function placeOf(port: unknown, { server, management }: Config): { readonly flag: string; readonly host: string } {
  if (port === server.metricsPort) return { flag: '--metrics-port', host: server.host };
  if (port === server.grpcPort) return { flag: '--grpc-port', host: server.host };
  if (port === management.port) return { flag: '--management-port', host: management.host };
  return { flag: '--http-port', host: server.host };
}
