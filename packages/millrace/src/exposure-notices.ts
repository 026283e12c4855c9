/** What an operator must know about who can reach the server, said once at the start. */
import { isLoopbackName } from '@millrace/protocol';
import type { Config } from './config/fields.ts';
import { managementListenerOf } from './management-listener.ts';
import type { ExposureNotice } from './running-server.ts';

export function exposureNoticesOf(config: Pick<Config, 'management' | 'server' | 'tls'>): readonly ExposureNotice[] {
  // Whoever calls then shows a certificate first.
  if (config.tls.clientAuthorityFile !== '') return [];
  const notices: ExposureNotice[] = [];
  const { host } = config.server;
  const place = managementListenerOf(config);
  if (!isLoopbackName(host)) {
    const message = 'inference is open to the network without client authentication';
    const advice = 'put an authenticating proxy in front, set tls.clientAuthorityFile, or listen on 127.0.0.1';
    notices.push({ message, host, advice });
  }
  const managementHost = place.kind === 'shared' ? host : place.kind === 'port' ? place.host : '127.0.0.1';
  if (!isLoopbackName(managementHost)) {
    const message = 'management is open to the network without client authentication';
    const advice = 'give it a Unix socket with management.socket, or a port on 127.0.0.1 with management.port';
    notices.push({ message, host: managementHost, advice });
  }
  return notices;
}
