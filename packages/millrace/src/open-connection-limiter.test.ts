import { AddressRanges, type HttpServer, serveHttp } from '@millrace/http';
import { afterEach, expect, test } from 'vitest';
import { resolveConfig } from './config/resolve-config.ts';
import { createLogger } from './logging/logger.ts';
import { openConnectionLimiter } from './open-connection-limiter.ts';
import type { OpenFiles } from './open-file-limit.ts';

let server: HttpServer | undefined;
afterEach(() => server?.close());

function limiterWith(openFiles: OpenFiles, workers = 0, http: { connectionsPerAddressMax?: number } = {}) {
  const lines: string[] = [];
  const config = resolveConfig({ options: { log: { format: 'json' }, http }, cwd: '/' });
  const write = (text: string) => {
    lines.push(text);
  };
  const logger = createLogger({ config, isTerminal: false, paint: (_, text) => text, write });
  const limiter = openConnectionLimiter({
    config,
    trustedProxies: new AddressRanges([]),
    workers: () => workers,
    logger,
    openFiles,
  });
  return { limiter, records: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test('one line says that the limit of connections was lowered, and to what', () => {
  expect(limiterWith({ max: 20_000, open: 30 }).records()).toEqual([]);
  expect(limiterWith({ max: 1024, open: 30 }).records()).toMatchObject([
    { level: 'warn', openFilesMax: 1024, wanted: 10_000, connectionsMax: expect.any(Number) },
  ]);
});

test('the start fails where the limit of open files leaves no room', () => {
  expect(() => limiterWith({ max: 64, open: 30 })).toThrow(/http.connectionsMax: needs \d+ open files or more/);
});

test('workers added later lower the number of connections', async () => {
  const status = async (workers: number) => {
    const { limiter } = limiterWith({ max: 4096, open: 30 }, workers);
    server = await serveHttp(() => ({ status: 204, headers: [] }), { limiter });
    const answered = await fetch(`http://127.0.0.1:${server.port}`).then(
      (response) => response.status,
      () => 'refused',
    );
    await server.close();
    return answered;
  };
  expect([await status(4), await status(505)]).toEqual([204, 'refused']);
});

test('an address gets a quarter of a low limit, or what an operator has set', async () => {
  const answered = async (http: { connectionsPerAddressMax?: number }) => {
    // Leaves room for 12 connections.
    const { limiter } = limiterWith({ max: 166, open: 30 }, 0, http);
    const waiting: (() => void)[] = [];
    server = await serveHttp(
      () => new Promise((resolve) => waiting.push(() => resolve({ status: 204, headers: [] }))),
      { limiter },
    );
    const url = `http://127.0.0.1:${server.port}`;
    let settled = 0;
    const outcomes = Array.from({ length: 6 }, () =>
      fetch(url)
        .then(({ status }) => status)
        .catch(() => 'refused')
        .finally(() => {
          settled += 1;
        }),
    );
    // No request ends before all others have been accepted or refused.
    await expect.poll(() => waiting.length + settled).toBe(6);
    for (const answer of waiting) answer();
    const counted = await Promise.all(outcomes);
    await server.close();
    return counted.filter((outcome) => outcome === 204).length;
  };
  expect([await answered({}), await answered({ connectionsPerAddressMax: 5 })]).toEqual([3, 5]);
});
