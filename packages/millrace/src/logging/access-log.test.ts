import type { HttpHandler, HttpRequest } from '@millrace/http';
import { expect, test } from 'vitest';
import { resolveConfig } from '../config/resolve-config.ts';
import { paintOf } from '../terminal.ts';
import { withAccessLog } from './access-log.ts';
import { createLogger } from './logger.ts';

const request = { method: 'POST', path: '/v2', peer: { address: '10.0.0.9' } } as HttpRequest;

function observed(handler: HttpHandler) {
  const entries: Record<string, unknown>[] = [];
  const config = resolveConfig({ options: { log: { format: 'json' } }, cwd: '/' });
  const write = (line: string): void => void entries.push(JSON.parse(line) as Record<string, unknown>);
  const logger = createLogger({ config, isTerminal: false, paint: paintOf({ hasColours: false }), write });
  let time = 100;
  const logging = withAccessLog(handler, logger, () => {
    time += 1.5;
    return time;
  });
  return { entries, logging };
}

test('a request is logged once its answer has left, and its memory is still released', async () => {
  const released: string[] = [];
  const { entries, logging } = observed(() => ({ status: 204, headers: [], release: () => released.push('once') }));
  const response = await logging(request);
  expect(entries).toEqual([]);
  response.release?.();
  expect(released).toEqual(['once']);
  expect(entries).toMatchObject([
    { level: 'info', message: 'request', method: 'POST', path: '/v2', status: 204, durationMs: 1.5, peer: '10.0.0.9' },
  ]);
});

test('a handler that throws is logged and throws on', async () => {
  const { entries, logging } = observed(() => Promise.reject(new Error('boom')));
  await expect(logging(request)).rejects.toThrow('boom');
  expect(entries).toMatchObject([{ path: '/v2', error: { message: 'boom' } }]);
});
