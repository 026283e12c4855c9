/** Warnings for the operator, shown once at the start, about parts of the server that the network can reach. */
import { isLoopbackName } from '@millrace/protocol';
import type { Config } from './config/fields.ts';
import { managementListenerOf } from './management-listener.ts';
import type { ExposureNotice } from './running-server.ts';

export function exposureNoticesOf(config: Pick<Config, 'management' | 'server' | 'tls'>): readonly ExposureNotice[] {
  // Every caller then has to present a certificate.
  if (config.tls.clientAuthorityFile !== '') return [];
  const notices: ExposureNotice[] = [];
  const { host } = config.server;
  const listener = managementListenerOf(config);
  if (!isLoopbackName(host)) {
    const message = 'inference is open to the network without client authentication';
    const advice = 'put an authenticating proxy in front, set tls.clientAuthorityFile, or listen on 127.0.0.1';
    notices.push({ message, host, advice });
  }
  const managementHost = listener.kind === 'shared' ? host : listener.kind === 'port' ? listener.host : '127.0.0.1';
  if (!isLoopbackName(managementHost)) {
    const message = 'management is open to the network without client authentication';
    const advice = 'give it a Unix socket with management.socket, or a port on 127.0.0.1 with management.port';
    notices.push({ message, host: managementHost, advice });
  }
  return notices;
}
