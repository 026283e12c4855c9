import { connect, type Socket } from 'node:net';
import { type HttpServer, serveHttp } from '@millrace/http';
import { afterEach, expect, test } from 'vitest';
import { echoEdge, input, jsonRequest } from './echo-double.ts';

const request = jsonRequest({ inputs: [input('x', 'INT8', [1], { data: [1] })] });
const body = String(request.body);
const budget = 4 * body.length;

let server: HttpServer;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

/** Sends the head of a request that announces so much, and `sent` of its body. */
async function announce(bytes: number, sent: string, encoding = 'identity'): Promise<Socket> {
  const socket = connect(server.port, server.host);
  sockets.push(socket);
  await new Promise((resolve) => socket.once('connect', resolve));
  const fields = `host: x\r\ncontent-encoding: ${encoding}\r\nexpect: 100-continue\r\ncontent-length: ${bytes}\r\n`;
  // The 100 tells that the server has come to want the body.
  const isWanted = new Promise((resolve) => socket.once('data', resolve));
  socket.write(`POST ${request.target} HTTP/1.1\r\n${fields}\r\n`);
  await isWanted;
  socket.write(sent);
  return socket;
}

function reply(socket: Socket): Promise<string> {
  return new Promise((resolve) => socket.once('data', (bytes: Buffer) => resolve(bytes.toString('latin1'))));
}

async function serve(): Promise<void> {
  server = await serveHttp(echoEdge({ limits: { bodyBytesInFlightMax: budget } }).handler);
}

test.each(['identity', 'gzip'])(
  'bodies that are announced, %s, take nothing from those that arrive',
  async (encoding) => {
    await serve();
    for (let count = 0; count < 10; count++) await announce(budget, '', encoding);
    const socket = await announce(body.length, body);
    expect(await reply(socket)).toMatch(/^HTTP\/1\.1 200 /);
  },
);

test('a body that arrives holds what has arrived, and gives it back when it is refused', async () => {
  await serve();
  const { call } = echoEdge({ limits: { bodyBytesInFlightMax: budget } });
  let finish: () => void = () => {};
  let arrived: () => void = () => {};
  const isHeld = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  async function* slowly(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(budget - 10, ' ');
    // Asked for more: what was given is held.
    arrived();
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    yield Buffer.alloc(20, ' ');
  }
  const slow = call({ ...request, body: slowly() });
  await isHeld;
  expect((await call(request)).headers.get('millrace-error-code')).toBe('server-full');
  finish();
  expect((await slow).headers.get('millrace-error-code')).toBe('server-full');
  expect((await call(request)).status).toBe(200);
});
