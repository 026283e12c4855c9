import { expect, test } from 'vitest';
import type { Options } from './config/fields.ts';
import { resolveConfig } from './config/resolve-config.ts';
import { exposureNoticesOf } from './exposure-notices.ts';
import { managementListenerOf, managementRefusalOf } from './management-listener.ts';

const configOf = (options: Options) => resolveConfig({ options, cwd: '/' });

test.each<[Options, string, RegExp | undefined]>([
  [{}, 'shared', undefined],
  [{ server: { host: 'localhost' } }, 'shared', undefined],
  [{ server: { host: '::1' } }, 'shared', undefined],
  [{ server: { host: '0.0.0.0' } }, 'off', /other than loopback; .*--management-socket PATH .*--management to serve/],
  [{ server: { host: '10.0.0.7' } }, 'off', /other than loopback/],
  [{ server: { host: 'gpu-1' } }, 'off', /other than loopback/],
  [{ server: { host: '0.0.0.0' }, management: { enabled: true } }, 'shared', undefined],
  [{ management: { enabled: false } }, 'off', /management\.enabled is false.*--management/],
  [{ server: { host: '0.0.0.0' }, management: { port: 9000 } }, 'port', /port of its own \(management\.port\)/],
  [{ server: { host: '0.0.0.0' }, management: { socket: '/run/m.sock' } }, 'socket', /management\.socket/],
])('with %j it is %s, and a call elsewhere says where', (options, kind, refusal) => {
  const config = configOf(options);
  expect(managementListenerOf(config).kind).toBe(kind);
  const text = managementRefusalOf(config);
  if (refusal === undefined) expect(text).toBeUndefined();
  else expect(text).toMatch(refusal);
});

const inference = 'inference is open to the network without client authentication';
const management = 'management is open to the network without client authentication';
const tls = { certificateFile: '/c.pem', keyFile: '/k.pem' };

test.each<[Options, readonly string[]]>([
  [{}, []],
  [{ server: { host: '127.0.0.2' } }, []],
  [{ server: { host: '0.0.0.0' } }, [inference]],
  [{ server: { host: '::' }, tls }, [inference]],
  [{ server: { host: '0.0.0.0' }, tls: { ...tls, clientAuthorityFile: '/a.pem' } }, []],
  [{ server: { host: '0.0.0.0' }, management: { enabled: true } }, [inference, management]],
  [{ management: { enabled: true, port: 9000, host: '0.0.0.0' } }, [management]],
  [{ server: { host: '0.0.0.0' }, management: { socket: '/run/m.sock' } }, [inference]],
])('with %j the operator is told %j', (options, messages) => {
  expect(exposureNoticesOf(configOf(options)).map(({ message }) => message)).toEqual(messages);
});
