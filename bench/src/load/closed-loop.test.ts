import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { HttpLoop } from './http-loop.ts';

const request = Buffer.from('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
let server: Server | undefined;
let connectionCount = 0;

async function serving(answer: () => string): Promise<number> {
  connectionCount = 0;
  server = createServer((_, response) => {
    const body = answer();
    response.setHeader('content-length', body.length);
    response.end(body);
  });
  server.on('connection', () => {
    connectionCount += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

test('slices share their connections, and each counts its own answers', async () => {
  let asked = 0;
  const port = await serving(() => (asked++ === 0 ? 'wrong' : 'right'));
  const loop = new HttpLoop(port, { connections: 3, request, isRight: (body) => body.toString() === 'right' });
  const [first, second] = [await loop.run(5), await loop.run(5)];
  loop.close();
  expect(first.wrong).toBe(1);
  expect(second.wrong).toBe(0);
  expect(first.answered + second.answered).toBe(asked);
  expect(second.answered).toBeGreaterThanOrEqual(3);
  expect(connectionCount).toBe(3);
});

test('answers that are the same as a right one are counted without another check, and wrong ones after them are found', async () => {
  let asked = 0;
  const port = await serving(() => (asked++ % 10 === 9 ? 'wrong' : 'right'));
  let checked = 0;
  const isRight = (body: Buffer): boolean => ++checked > 0 && body.toString() === 'right';
  const loop = new HttpLoop(port, { connections: 1, request, isRight });
  const { answered, wrong } = await loop.run(50);
  loop.close();
  expect(answered).toBe(asked);
  expect(wrong).toBe(Math.floor(asked / 10));
  expect(checked).toBeLessThan(asked);
});

test('one caller has a median time, several have none', async () => {
  const port = await serving(() => 'right');
  const measured = async (connections: number) => {
    const loop = new HttpLoop(port, { connections, request, isRight: () => true });
    const counts = await loop.run(5);
    loop.close();
    return counts;
  };
  const { p50Ms, p99Ms } = await measured(1);
  expect(p50Ms).toBeGreaterThan(0);
  expect(p99Ms).toBeGreaterThanOrEqual(p50Ms as number);
  expect(await measured(2)).not.toHaveProperty('p50Ms');
});

test('pipelined requests are sent together, and their answers are counted one by one', async () => {
  let asked = 0;
  const port = await serving(() => `${asked++}`);
  const answers: string[] = [];
  const isRight = (body: Buffer): boolean => answers.push(body.toString()) > 0;
  const loop = new HttpLoop(port, { connections: 1, request, pipelined: 4, isRight });
  const counts = await loop.run(1);
  loop.close();
  expect(counts.answered).toBe(asked);
  expect(asked % 4).toBe(0);
  expect(answers.slice(0, 4)).toEqual(['0', '1', '2', '3']);
});

test('a connection that the server closes between slices fails the next one', async () => {
  const port = await serving(() => 'right');
  const loop = new HttpLoop(port, { connections: 1, request, isRight: () => true });
  await loop.run(1);
  const closed = new Promise((resolve) => server?.once('close', resolve));
  server?.close();
  server?.closeAllConnections();
  await closed;
  await expect(loop.run(5)).rejects.toThrow();
  loop.close();
});
