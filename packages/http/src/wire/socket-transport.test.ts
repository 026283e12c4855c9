import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { expect, test, vi } from 'vitest';
import { testAuthority } from '../testing/certificates.ts';
import { httpLimits } from './config.ts';
import { inputTurns, type TurnInput } from './input-turns.ts';
import { SocketTransport } from './socket-transport.ts';
import type { Connection } from './transport.ts';

const silent: Connection = {
  receive() {},
  receiveEnd() {},
  onWritable() {},
  onClosed() {},
  flush() {},
  drain() {},
  idleSinceMs: 0,
  endIdle() {},
};

/** Far more than the kernel holds for two sockets. */
const pieceBytes = 64 * 1024 * 1024;

test('what the kernel takes of a large piece is seen while the piece is still on its way', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  const transport = new SocketTransport(
    socket,
    { owner: '127.0.0.1', isTrustedProxy: false },
    () => silent,
    () => {},
  );
  client.pause();
  let isTaken = false;
  transport.write([new Uint8Array(pieceBytes)], () => {
    isTaken = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  const atFirst = transport.takenBytes;
  expect(atFirst).toBeLessThan(pieceBytes);
  let received = 0;
  while (received < pieceBytes / 2) {
    const chunk = client.read() as Buffer | null;
    if (chunk === null) await once(client, 'readable');
    else received += chunk.length;
  }
  expect(isTaken).toBe(false);
  expect(transport.takenBytes).toBeGreaterThan(atFirst);
  expect(transport.takenBytes).toBeGreaterThanOrEqual(received);
  expect(transport.takenBytes).toBeLessThan(pieceBytes);
  client.destroy();
  socket.destroy();
  server.close();
  await once(server, 'close');
});

test('small pieces arrive in order when the kernel takes only some of them, and are counted as unsent until it has them', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  let onWritable = (): void => {};
  const writable = new Promise<void>((resolve) => {
    onWritable = resolve;
  });
  const transport = new SocketTransport(
    socket,
    { owner: '127.0.0.1', isTrustedProxy: false },
    () => ({ ...silent, onWritable: () => onWritable() }),
    () => {},
  );
  client.pause();
  const smallBytes = 32 * 1024;
  const pieces: Buffer[] = [];
  const write = (): void => {
    const piece = Buffer.alloc(smallBytes, pieces.length % 251);
    pieces.push(piece);
    transport.write([piece], undefined);
  };
  while (transport.pendingBytes === 0) write();
  expect(transport.pendingBytes).toBe(smallBytes);
  expect(transport.takenBytes).toBeGreaterThanOrEqual(smallBytes * (pieces.length - 1));
  expect(transport.takenBytes).toBeLessThan(smallBytes * pieces.length);
  // Behind one that is pending the stream writes.
  for (let count = 0; count < 3; count++) write();
  expect(transport.pendingBytes).toBe(4 * smallBytes);
  const expected = Buffer.concat(pieces);
  const received: Buffer[] = [];
  for (let bytes = 0; bytes < expected.length; ) {
    const chunk = client.read() as Buffer | null;
    if (chunk === null) await once(client, 'readable');
    else {
      received.push(chunk);
      bytes += chunk.length;
    }
  }
  expect(Buffer.concat(received).equals(expected)).toBe(true);
  await writable;
  while (transport.pendingBytes > 0) await new Promise((resolve) => setImmediate(resolve));
  expect(transport.takenBytes).toBe(expected.length);
  client.destroy();
  socket.destroy();
  server.close();
  await once(server, 'close');
});

test.each(['sent', 'cut off'])(
  'a callback that comes after the end waits until what was written before it is %s',
  async (fate) => {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as { port: number }).port, '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    const transport = new SocketTransport(
      socket,
      { owner: '127.0.0.1', isTrustedProxy: false },
      () => silent,
      () => {},
    );
    client.pause();
    transport.write([new Uint8Array(pieceBytes)], undefined);
    transport.end();
    let pendingBytes = -1;
    const taken = new Promise<void>((resolve) => {
      transport.write([new Uint8Array(0)], () => {
        pendingBytes = transport.pendingBytes;
        resolve();
      });
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(pendingBytes).toBe(-1);
    if (fate === 'sent') client.resume();
    else client.destroy();
    await taken;
    expect(pendingBytes).toBe(0);
    transport.write([new Uint8Array(0)], () => {
      pendingBytes = -2;
    });
    expect(pendingBytes).toBe(-2);
    client.destroy();
    socket.destroy();
    server.close();
    await once(server, 'close');
  },
);

test.each([httpLimits.outputBytesMax.min, httpLimits.outputBytesMax.default])(
  'a piece of %s bytes, which may fill the output, is followed by room, also where the kernel takes it at once',
  async (bytes) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as { port: number }).port, '127.0.0.1').resume();
    const [socket] = (await once(server, 'connection')) as [Socket];
    await new Promise<void>((resolve) => {
      const transport = new SocketTransport(
        socket,
        { owner: '127.0.0.1', isTrustedProxy: false },
        () => ({ ...silent, onWritable: resolve }),
        () => {},
      );
      transport.write([new Uint8Array(bytes)], undefined);
    });
    client.destroy();
    socket.destroy();
    server.close();
    await once(server, 'close');
  },
);

test('the end of a TLS connection comes behind what was set aside of it', async () => {
  const server = createTlsServer({ ...testAuthority('localhost'), allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  const [socket] = (await once(server, 'secureConnection')) as [TLSSocket];
  const heard: string[] = [];
  new SocketTransport(
    socket,
    { owner: '127.0.0.1', isTrustedProxy: false },
    () => ({
      ...silent,
      receive: (bytes) => void heard.push(bytes.toString()),
      receiveEnd: () => void heard.push('end'),
    }),
    () => {},
  );
  const aside: TurnInput[] = [];
  const setAside = vi.spyOn(inputTurns, 'setAside').mockImplementationOnce((input) => {
    input.holdInput();
    return aside.push(input) > 0;
  });
  client.end('a request');
  await once(socket, 'end');
  setAside.mockRestore();
  expect(heard).toEqual([]);
  aside[0]?.releaseInput();
  expect(heard).toEqual(['a request', 'end']);
  client.destroy();
  socket.destroy();
  server.close();
  await once(server, 'close');
});
