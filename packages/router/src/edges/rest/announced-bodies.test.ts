/** Bodies over real sockets, with the memory that requests share among their owners. */
import { connect, type Socket } from 'node:net';
import { MemoryLedger, resolveMemoryLimits } from '@millrace/core';
import { type HttpServer, serveHttp } from '@millrace/http';
import { afterEach, expect, test } from 'vitest';
import { catalogueOf, echoEdge, input, jsonRequest, viewOf } from './testing/echo-double.ts';

const mebibyte = 1024 * 1024;
const flat = { name: 'x', datatype: 'FP32', shape: [-1] } as const;
const catalogue = catalogueOf(viewOf('m', { isBatched: false, inputs: [flat], outputs: [flat] }));
const request = jsonRequest({ inputs: [input('x', 'FP32', [1], { data: [1] })] });
const body = String(request.body);

let server: HttpServer;
let memory: MemoryLedger;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

async function serve(): Promise<void> {
  memory = new MemoryLedger(resolveMemoryLimits({ bytesMax: 16 * mebibyte, bodyBytesMax: 2 * mebibyte }));
  server = await serveHttp(echoEdge({ catalogue }).handler, { memory, memoryWaitMsMax: 100 });
}

/** Sends the head of a request that announces so much, and `sent` of its body, from an address of this machine. */
async function announce(
  bytes: number,
  sent: string | Uint8Array,
  { encoding = 'identity', from = '127.0.0.1' } = {},
): Promise<Socket> {
  const socket = connect({ port: server.port, host: server.host, localAddress: from });
  socket.on('error', () => {});
  sockets.push(socket);
  await new Promise((resolve) => socket.once('connect', resolve));
  const fields = `host: x\r\ncontent-encoding: ${encoding}\r\nexpect: 100-continue\r\ncontent-length: ${bytes}\r\n`;
  // The 100 shows that the server is ready to read the body.
  const isWanted = new Promise((resolve) => socket.once('data', resolve));
  socket.write(`POST ${request.target} HTTP/1.1\r\n${fields}\r\n`);
  await isWanted;
  socket.write(sent);
  return socket;
}

function reply(socket: Socket): Promise<string> {
  return new Promise((resolve) => socket.once('data', (bytes: Buffer) => resolve(bytes.toString('latin1'))));
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

test.each(['identity', 'gzip'])(
  'bodies that are announced, %s, take nothing from those that arrive',
  async (encoding) => {
    await serve();
    for (let count = 0; count < 50; count++) await announce(2 * mebibyte, '', { encoding });
    expect(memory.usedBytes).toBeLessThan(mebibyte);
    const socket = await announce(body.length, body);
    expect(await reply(socket)).toMatch(/^HTTP\/1\.1 200 /);
  },
);

test('an owner at its share waits and is refused, while another is served; then the memory is free again', async () => {
  await serve();
  const held: Socket[] = [];
  const replies: Promise<string>[] = [];
  for (let count = 0; count < 30; count++) {
    const socket = await announce(2 * mebibyte, Buffer.alloc(mebibyte, 32), { from: '127.0.0.2' });
    held.push(socket);
    replies.push(reply(socket));
  }
  await until(() => memory.waitingCount > 0);
  expect(memory.usedBytes).toBeLessThan(16 * mebibyte);
  for (const count of [1, 50_000]) {
    const data = new Array<number>(count).fill(1);
    const sent = String(jsonRequest({ inputs: [input('x', 'FP32', [count], { data })] }).body);
    const told = await reply(await announce(sent.length, sent, { from: '127.0.0.3' }));
    expect(told, told).toMatch(/^HTTP\/1\.1 200 /);
  }
  const refused = await Promise.race(replies);
  expect(refused).toMatch(/^HTTP\/1\.1 429 /);
  expect(refused).toContain('millrace-error-code: caller-full');
  for (const socket of held) socket.destroy();
  await until(() => memory.usedBytes === 0);
});
