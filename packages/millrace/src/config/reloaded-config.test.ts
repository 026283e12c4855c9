import { expect, test } from 'vitest';
import type { Config, Options } from './fields.ts';
import { reloadedConfig } from './reloaded-config.ts';
import { resolveConfig } from './resolve-config.ts';

const tls = { certificateFile: '/a.pem', keyFile: '/a.key' };

function configOf(options: Options): Config {
  return resolveConfig({ options, cwd: '/' });
}

test('settings that can change are applied, the others keep their old value and are named', () => {
  const current = configOf({ log: { level: 'info' }, http: { corsOrigins: [] } });
  const next = configOf({
    log: { level: 'debug' },
    http: { corsOrigins: ['https://a.example'] },
    server: { httpPort: 9 },
  });
  const { config, applied, restartNeeded } = reloadedConfig(current, next);
  expect(applied).toEqual(['log.level']);
  expect(restartNeeded).toEqual(['server.httpPort', 'http.corsOrigins']);
  expect(config).toEqual({ ...current, log: next.log });
  expect(Object.isFrozen(config) && Object.isFrozen(config.log)).toBe(true);
});

test('a change that takes a restart is named by every reload until then, an applied one once', () => {
  const next = configOf({ shutdown: { drainSecondsMax: 9 }, server: { httpPort: 9 } });
  const first = reloadedConfig(configOf({}), next);
  expect(first.applied).toEqual(['shutdown.drainSecondsMax']);
  const second = reloadedConfig(first.config, next);
  expect(second.applied).toEqual([]);
  expect(second.restartNeeded).toEqual(['server.httpPort']);
});

test('other certificate files apply, but TLS and client certificates cannot be switched on or off', () => {
  const other = reloadedConfig(configOf({ tls }), configOf({ tls: { certificateFile: '/b.pem', keyFile: '/b.key' } }));
  expect(other.config.tls.certificateFile).toBe('/b.pem');
  expect(other.restartNeeded).toEqual([]);
  const switchedOn = reloadedConfig(configOf({}), configOf({ tls }));
  expect(switchedOn.config.tls.certificateFile).toBe('');
  expect(switchedOn.restartNeeded).toEqual(['tls.certificateFile', 'tls.keyFile']);
  const clients = reloadedConfig(configOf({ tls }), configOf({ tls: { ...tls, clientAuthorityFile: '/ca.pem' } }));
  expect(clients.restartNeeded).toEqual(['tls.clientAuthorityFile']);
});
