import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { takeDirectReads } from './direct-read.ts';
import { SharedInput } from './shared-input.ts';

let server: Server | undefined;

afterEach(async () => {
  server?.close();
  if (server !== undefined) await once(server, 'close');
  server = undefined;
});

async function connected(): Promise<{ client: Socket; socket: Socket }> {
  server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  return { client, socket };
}

test('this version of Node can be read directly', () => {
  expect(takeDirectReads()).toBeDefined();
});

test('where Node has no such binding, or forbids it, or has other parts, there are no direct reads', () => {
  const forbidden = (): unknown => {
    throw new Error('Access to this API has been restricted');
  };
  expect(takeDirectReads(() => undefined)).toBeUndefined();
  expect(takeDirectReads(forbidden)).toBeUndefined();
  expect(takeDirectReads(() => ({ kReadBytesOrError: 0 }))).toBeUndefined();
  expect(takeDirectReads(() => ({ streamBaseState: new Int32Array(2), kReadBytesOrError: 2 }))).toBeUndefined();
});

test('a socket without a handle, or one that is read by somebody else, is refused', async () => {
  const { client, socket } = await connected();
  const reads = takeDirectReads();
  const reader = { socket, onDirectRead: () => undefined };
  expect(reads?.attach(socket, reader)).toBe(true);
  expect(reads?.attach(socket, reader)).toBe(false);
  client.destroy();
  socket.destroy();
  expect(reads?.attach(socket, reader)).toBe(false);
});

test('bytes go to the reader, into the memory that it returned, and the end goes to the stream', async () => {
  const { client, socket } = await connected();
  const [first, second] = [Buffer.alloc(4), Buffer.alloc(1024)];
  let memory = first;
  let text = '';
  const input = new SharedInput({ isPoisoned: false });
  expect(input.attach(socket, () => expect.unreachable())).toBe(true);
  (socket as unknown as { _handle: { useUserBuffer(bytes: Buffer): void } })._handle.useUserBuffer(first);
  takeDirectReads()?.attach(socket, {
    socket,
    onDirectRead: (count) => {
      text += memory.toString('latin1', 0, count);
      memory = second;
      return second;
    },
  });
  socket.resume();
  client.end('hello, world');
  await once(socket, 'end');
  expect(text).toBe('hello, world');
  expect(second.toString('latin1', 0, 8)).toBe('o, world');
  socket.end();
  await once(client, 'close');
});

test('nothing is read while the socket is paused, and a destroyed one reads no more', async () => {
  const { client, socket } = await connected();
  const memory = new SharedInput({ isPoisoned: false });
  memory.attach(socket, () => expect.unreachable());
  let count = 0;
  takeDirectReads()?.attach(socket, {
    socket,
    onDirectRead: (bytes) => {
      count += bytes;
      socket.pause();
      return undefined;
    },
  });
  socket.resume();
  client.write('ab');
  while (count < 2) await new Promise(setImmediate);
  client.write('cd');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(count).toBe(2);
  socket.resume();
  while (count < 4) await new Promise(setImmediate);
  socket.destroy();
  client.destroy();
  await once(socket, 'close');
  expect(count).toBe(4);
});
