/** How many connections a server with further handles of its listening socket accepts, over real sockets. */
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { acceptsPerTurn, ConnectionLimiter, resolveHttpLimits, serveWire, type WireHandler } from '@millrace/http';
import { testAuthority } from '@millrace/http/testing';
import { takeDuplicateDescriptor } from '@millrace/shared-memory';
import { expect, test } from 'vitest';

const quick: WireHandler = (exchange) => exchange.answer(204, [], undefined, undefined, undefined);
const connections = 200;

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

test.runIf(process.platform === 'linux').each([
  ['plain', undefined],
  ['TLS', testAuthority('localhost')],
])('several %s connections are accepted in a turn, and all of them by their server', async (_name, tls) => {
  const limiter = new ConnectionLimiter(resolveHttpLimits({ handshakesPerAddressMax: connections }));
  const admit = limiter.admit.bind(limiter);
  const turns: number[] = [];
  let isTurnOver = true;
  limiter.admit = (socket, entrance) => {
    if (isTurnOver) {
      isTurnOver = false;
      turns.push(0);
      setImmediate(() => {
        isTurnOver = true;
      });
    }
    turns.push((turns.pop() as number) + 1);
    return admit(socket, entrance);
  };
  const before = openDescriptors();
  const server = await serveWire(quick, { limiter, tls, duplicateDescriptor: takeDuplicateDescriptor() });
  const sockets: Socket[] = [];
  const accepted = (): number => turns.reduce((sum, count) => sum + count, 0);
  for (let count = 0; count < connections; count++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
  }
  while (accepted() < connections) await new Promise(setImmediate);
  expect(Math.max(...turns)).toBeGreaterThan(1);
  expect(Math.max(...turns)).toBeLessThanOrEqual(acceptsPerTurn);
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  // Closing waits for the connections of all handles, and leaves none of these open.
  for (const socket of sockets) socket.resume();
  await Promise.all([server.close(), ...closed]);
  expect(openDescriptors()).toBe(before);
});
