import { expect, test } from 'vitest';
import { resolveConfig } from '../config/resolve-config.ts';
import { acceptErrorPauseMs } from './accept-error-log.ts';
import { createLogger } from './logger.ts';
import { refusedConnectionLog } from './refused-connection-log.ts';

test('connections refused at a limit are logged at once, then counted, each limit separately', () => {
  const lines: string[] = [];
  const config = resolveConfig({ options: { log: { format: 'json' } }, cwd: '/' });
  let nowMs = 0;
  const write = (text: string) => {
    lines.push(text);
  };
  const logger = createLogger({ config, isTerminal: false, paint: (_, text) => text, write });
  const onRefused = refusedConnectionLog(logger, () => nowMs);
  onRefused('connectionsPerAddressMax', '10.0.0.1');
  onRefused('connectionsPerAddressMax', '10.0.0.1');
  onRefused('descriptors', '10.0.0.2');
  nowMs = acceptErrorPauseMs;
  onRefused('connectionsPerAddressMax', '10.0.0.3');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'warn', limit: 'http.connectionsPerAddressMax', address: '10.0.0.1', connections: 1 },
    { limit: 'open files (ulimit -n)', address: '10.0.0.2', connections: 1 },
    { limit: 'http.connectionsPerAddressMax', address: '10.0.0.3', connections: 2 },
  ]);
});
