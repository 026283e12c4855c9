import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type DirectWriter, takeDirectWrites } from './direct-write.ts';

let server: Server | undefined;

afterEach(async () => {
  server?.close();
  if (server !== undefined) await once(server, 'close');
  server = undefined;
});

async function connected(): Promise<{ client: Socket; socket: Socket }> {
  server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  return { client, socket };
}

const nobody: DirectWriter = { onDirectWritten: () => expect.unreachable() };

test('this version of Node can be written to directly', () => {
  expect(takeDirectWrites()).toBeDefined();
});

test('where Node has no such binding, or forbids it, or has other parts, there are no direct writes', () => {
  const forbidden = (): unknown => {
    throw new Error('Access to this API has been restricted');
  };
  expect(takeDirectWrites(() => undefined)).toBeUndefined();
  expect(takeDirectWrites(forbidden)).toBeUndefined();
  expect(takeDirectWrites(() => ({ WriteWrap: class {} }))).toBeUndefined();
  const short = { WriteWrap: class {}, streamBaseState: new Int32Array(2), kLastWriteWasAsync: 3 };
  expect(takeDirectWrites(() => short)).toBeUndefined();
});

test('a socket without a handle refuses', async () => {
  const { client, socket } = await connected();
  client.destroy();
  socket.destroy();
  expect(takeDirectWrites()?.write(socket, Buffer.from('late'), nobody)).toBe('refused');
});

test('small pieces are taken at once and arrive in order, also around those of the stream', async () => {
  const { client, socket } = await connected();
  const direct = takeDirectWrites();
  expect(direct?.write(socket, Buffer.from('a'), nobody)).toBe('taken');
  expect(direct?.write(socket, Buffer.from('b'), nobody)).toBe('taken');
  await new Promise<void>((resolve) => socket.write('c', () => resolve()));
  expect(direct?.write(socket, Buffer.from('d'), nobody)).toBe('taken');
  socket.end();
  let text = '';
  for await (const chunk of client) text += String(chunk);
  expect(text).toBe('abcd');
});

/** Fills the kernel's buffers until a write is left over; returns how much was written in all. */
function fill(socket: Socket, writer: DirectWriter): number {
  const direct = takeDirectWrites();
  for (let total = 0; ; ) {
    const piece = Buffer.alloc(64 * 1024, total % 251);
    const outcome = direct?.write(socket, piece, writer);
    total += piece.length;
    if (outcome === 'pending') return total;
    expect(outcome).toBe('taken');
  }
}

test('what the kernel does not take at once is sent when the peer reads, and the end comes behind it', async () => {
  const { client, socket } = await connected();
  client.pause();
  const written = new Promise<boolean>((resolve) => {
    const total = fill(socket, { onDirectWritten: resolve });
    socket.end();
    let received = 0;
    client.on('data', (chunk) => {
      for (const byte of [chunk[0], chunk[chunk.length - 1]]) expect(byte).toBeLessThan(251);
      received += chunk.length;
    });
    client.once('end', () => {
      expect(received).toBe(total);
      client.end();
    });
    client.resume();
  });
  expect(await written).toBe(false);
  await once(client, 'close');
});

test('a write that is left over fails when the socket is destroyed', async () => {
  const { client, socket } = await connected();
  client.pause();
  const written = new Promise<boolean>((resolve) => fill(socket, { onDirectWritten: resolve }));
  socket.destroy();
  expect(await written).toBe(true);
  client.destroy();
});
