import { AddressRanges, type HttpServer, serveHttp } from '@millrace/http';
import { afterEach, expect, test } from 'vitest';
import { resolveConfig } from './config/resolve-config.ts';
import { createLogger } from './logging/logger.ts';
import { openConnectionLimiter } from './open-connection-limiter.ts';
import type { OpenFiles } from './open-file-limit.ts';

let server: HttpServer | undefined;
afterEach(() => server?.close());

function limiterWith(openFiles: OpenFiles, workers = 0) {
  const lines: string[] = [];
  const config = resolveConfig({ options: { log: { format: 'json' } }, cwd: '/' });
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
