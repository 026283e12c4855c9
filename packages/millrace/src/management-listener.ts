/** Where management is served according to the configuration, and the error where it is not. */
import { isLoopbackName } from '@millrace/protocol';
import type { Config } from './config/fields.ts';

export type ManagementListener =
  | { readonly kind: 'off' }
  /** On the ports of the inference API. */
  | { readonly kind: 'shared' }
  | { readonly kind: 'port'; readonly host: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string };

type ListenerConfig = Pick<Config, 'management' | 'server'>;

export function managementListenerOf({ management, server }: ListenerConfig): ManagementListener {
  const { enabled, socket, port, host } = management;
  if (enabled === false) return { kind: 'off' };
  if (socket !== '') return { kind: 'socket', path: socket };
  if (port !== 'same') return { kind: 'port', host, port };
  return enabled === true || isLoopbackName(server.host) ? { kind: 'shared' } : { kind: 'off' };
}

/** The error for a management call on the inference ports; undefined: they serve management. */
export function managementRefusalOf(config: ListenerConfig): string | undefined {
  const { kind } = managementListenerOf(config);
  if (kind === 'shared') return undefined;
  if (kind === 'port') return 'management is served on a port of its own (management.port), not on this one';
  if (kind === 'socket') return 'management is served on a Unix socket (management.socket), not on this port';
  if (config.management.enabled === false) {
    return 'management is off (management.enabled is false); start the server with --management to switch it on';
  }
  return 'management is off on addresses other than loopback; start the server with --management-socket PATH or --management-port PORT, or with --management to serve it on this address too';
}
