import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HttpServer, serveWire } from '@millrace/http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { socketFetch } from './cli/socket-fetch.ts';
import { openManagementSocket } from './management-socket.ts';
import { leaveSocketBehind } from './testing/dead-socket.ts';

let folder = '';
let path = '';
const open: HttpServer[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-socket-'));
  path = join(folder, 'manage.sock');
});
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
  rmSync(folder, { recursive: true });
});

async function start(): Promise<HttpServer> {
  const server = await openManagementSocket(path, (socketPath) =>
    serveWire((exchange) => exchange.answer(200, [['x-path', exchange.path]], undefined, undefined, undefined), {
      socketPath,
    }),
  );
  open.push(server);
  return server;
}

const ask = async () => (await socketFetch(path)(`unix:${path}/v2`)).headers.get('x-path');

test('the socket is accessible to its user only, and no other file is left beside it', async () => {
  await start();
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['manage.sock']);
  expect(await ask()).toBe('/v2');
});

test.each(['drain', 'close'] as const)('%s removes it', async (end) => {
  const server = await start();
  await server[end]();
  expect(existsSync(path)).toBe(false);
});

test('the socket of a dead server is replaced', async () => {
  await leaveSocketBehind(path);
  expect(lstatSync(path).isSocket()).toBe(true);
  await start();
  expect(await ask()).toBe('/v2');
});

test('a server that listens there is an error, and it keeps serving', async () => {
  await start();
  await expect(start()).rejects.toMatchObject({
    code: 'EADDRINUSE',
    path,
    message: expect.stringContaining('another server listens'),
  });
  expect(await ask()).toBe('/v2');
});

test('a file that is not a socket is not touched', async () => {
  writeFileSync(path, 'precious');
  await expect(start()).rejects.toThrow('there is a file that is not a socket');
  expect(lstatSync(path).size).toBe(8);
});

test('the error for a folder that does not exist has its path', async () => {
  path = join(folder, 'nowhere', 'manage.sock');
  await expect(start()).rejects.toThrow(`${join(folder, 'nowhere')} does not exist`);
});
