import { expect, test } from 'vitest';
import { resolveConfig } from '../config/resolve-config.ts';
import { acceptErrorLog, acceptErrorPauseMs } from './accept-error-log.ts';
import { createLogger } from './logger.ts';

test('connections that could not be accepted are logged at once, then counted', () => {
  const lines: string[] = [];
  const config = resolveConfig({ options: { log: { format: 'json' } }, cwd: '/' });
  let nowMs = 0;
  const write = (text: string) => {
    lines.push(text);
  };
  const logger = createLogger({ config, isTerminal: false, paint: (_, text) => text, write });
  const onError = acceptErrorLog(logger, () => nowMs);
  const error = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' });
  onError(error);
  onError(error);
  onError(error);
  nowMs = acceptErrorPauseMs;
  onError(error);
  const told = lines.map((line) => JSON.parse(line) as { code: string; connections: number; message: string });
  expect(told).toMatchObject([
    { code: 'EMFILE', connections: 1 },
    { code: 'EMFILE', connections: 3 },
  ]);
  expect(told[0]?.message).toContain('ulimit -n');
});
