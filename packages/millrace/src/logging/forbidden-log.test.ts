import { expect, test } from 'vitest';
import { resolveConfig } from '../config/resolve-config.ts';
import { forbiddenLog, forbiddenPauseMs } from './forbidden-log.ts';
import { createLogger } from './logger.ts';

test('the first refusal is logged at once, those after it are counted into one line', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    config: resolveConfig({ options: { log: { format: 'json' } }, cwd: '/' }),
    isTerminal: false,
    paint: (_, text) => text,
    write: (text) => lines.push(JSON.parse(text) as Record<string, unknown>),
  });
  let nowMs = 0;
  const note = forbiddenLog(logger, () => nowMs);
  note('one');
  nowMs = forbiddenPauseMs - 1;
  for (let at = 0; at < 1000; at++) note('many');
  expect(lines).toMatchObject([{ level: 'warn', requests: 1, reason: 'one' }]);
  nowMs += 1;
  note('last');
  expect(lines[1]).toMatchObject({
    requests: 1001,
    reason: 'last',
    message: 'requests refused for their host or origin',
  });
});
