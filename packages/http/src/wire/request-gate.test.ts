import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { HttpServer } from '../exchange.ts';
import type { RequestGate } from './request-gate.ts';
import { type HttpServerOptions, serveWire } from './serve.ts';
import { echoUpgrade } from './testing/echo-upgrade.ts';

let server: HttpServer | undefined;
let served: string[] = [];
afterEach(async () => {
  await server?.close();
  served = [];
});

const gate: RequestGate = ({ path }) =>
  path === '/closed' ? (exchange) => exchange.answer(403, [], undefined, undefined, undefined) : undefined;

async function open(options: HttpServerOptions): Promise<HttpServer> {
  server = await serveWire((exchange) => {
    served.push(exchange.path);
    exchange.answer(200, [], undefined, undefined, undefined);
  }, options);
  return server;
}

async function say(text: string): Promise<string> {
  const socket = connect((server as HttpServer).port, '127.0.0.1');
  let heard = '';
  socket.on('data', (piece: Buffer) => {
    heard += piece.toString();
  });
  socket.write(text);
  await once(socket, 'close');
  return heard;
}

test('a request that the gate refuses is answered by it and never reaches the handler', async () => {
  await open({ gate });
  const ask = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody`;
  const last = 'GET /after HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  const heard = await say(ask('/open') + ask('/closed') + last);
  expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 403', 'HTTP/1.1 200']);
  expect(served).toEqual(['/open', '/after']);
});

test('an upgrade that the gate refuses is offered to nobody', async () => {
  const offered: string[] = [];
  await open({
    gate,
    onUpgrade: ({ path }) => {
      offered.push(path);
      return echoUpgrade('');
    },
  });
  const upgrade = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: echo\r\n\r\n.`;
  expect(await say(upgrade('/closed'))).toMatch(/^HTTP\/1\.1 403 /);
  expect(await say(upgrade('/open'))).toMatch(/^HTTP\/1\.1 101 /);
  expect(offered).toEqual(['/open']);
  expect(served).toEqual([]);
});

test('a server listens on a Unix socket, and drains there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-wire-'));
  try {
    const socketPath = join(folder, 's');
    const at = await open({ socketPath });
    const call = request({ socketPath, path: '/over-a-socket' }).end();
    const [answer] = (await once(call, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    answer.resume();
    expect(answer.statusCode).toBe(200);
    expect(served).toEqual(['/over-a-socket']);
    await at.drain();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
