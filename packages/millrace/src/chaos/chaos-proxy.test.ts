import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type ChaosEvent, type ChaosLimits, ChaosProxy } from './chaos-proxy.ts';

const opened: { close(): unknown }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

/** Sends back what comes, and ends when the client has. */
async function echoServer(): Promise<{ server: Server; port: number; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  return { server, port: (server.address() as { port: number }).port, sockets };
}

async function throughProxy(limits?: ChaosLimits) {
  const { port, sockets } = await echoServer();
  const events: ChaosEvent[] = [];
  let wake = (): void => {};
  const proxy = await ChaosProxy.open({
    target: { host: '127.0.0.1', port },
    random: () => 0,
    onEvent: (event) => {
      events.push(event);
      wake();
    },
    ...(limits === undefined ? {} : { limits }),
  });
  opened.push(proxy);
  /** The next event of the kind, or one that was there. */
  const event = async <Kind extends ChaosEvent['kind']>(kind: Kind): Promise<Extract<ChaosEvent, { kind: Kind }>> => {
    for (;;) {
      const found = events.find((one) => one.kind === kind);
      if (found !== undefined) return found as Extract<ChaosEvent, { kind: Kind }>;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const client = async (): Promise<Socket> => {
    const socket = connect({ ...proxy.address, allowHalfOpen: true });
    socket.on('error', () => {});
    opened.push({ close: () => socket.destroy() });
    await once(socket, 'connect');
    return socket;
  };
  return { proxy, events, event, client, serverSockets: sockets };
}

async function echoed(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  let got = '';
  while (got.length < text.length) got += String((await once(socket, 'data'))[0]);
  return got;
}

test('bytes pass both ways, and a client that has finished sending still gets its answer', async () => {
  const { proxy, event, client } = await throughProxy();
  const socket = await client();
  expect(await echoed(socket, 'hello')).toBe('hello');
  expect(proxy.isHealthy).toBe(true);
  socket.end(' again');
  const [last] = await once(socket, 'data');
  expect(String(last)).toBe(' again');
  expect(await event('ended')).toEqual({ kind: 'ended', link: 1, upBytes: 11, downBytes: 11, reason: 'closed' });
  expect(proxy.linkCount).toBe(0);
});

test('a megabyte passes unchanged although only 16 KiB may wait', async () => {
  const { client } = await throughProxy({ connectionsMax: 1, bufferedBytesMax: 16_384 });
  const socket = await client();
  const sent = Buffer.from(Array.from({ length: 1 << 20 }, (_, index) => (index * 31) % 251));
  socket.end(sent);
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  expect(Buffer.concat(pieces).equals(sent)).toBe(true);
});

test('a reset is ECONNRESET on both sides, and new connections pass', async () => {
  const { proxy, client, serverSockets } = await throughProxy();
  const socket = await client();
  await echoed(socket, 'a');
  const errors = Promise.all([once(socket, 'error'), once(serverSockets[0] as Socket, 'error')]);
  proxy.apply({ kind: 'reset' });
  for (const [error] of await errors) expect(error).toMatchObject({ code: 'ECONNRESET' });
  expect(await echoed(await client(), 'b')).toBe('b');
});

test('a cut closes both sides in order', async () => {
  const { proxy, client, serverSockets } = await throughProxy();
  const socket = await client();
  await echoed(socket, 'a');
  const ends = Promise.all([once(socket, 'end'), once(serverSockets[0] as Socket, 'end')]);
  proxy.apply({ kind: 'cut' });
  await ends;
});

test('a half-closed client hears the end, and what it sends still arrives', async () => {
  const { proxy, event, client, serverSockets } = await throughProxy();
  const socket = await client();
  await echoed(socket, 'a');
  const end = once(socket, 'end');
  proxy.apply({ kind: 'half-close', side: 'client' });
  await end;
  const arrived = once(serverSockets[0] as Socket, 'data');
  socket.end('more');
  expect(String((await arrived)[0])).toBe('more');
  expect(await event('ended')).toMatchObject({ upBytes: 5, downBytes: 1 });
});

test('a half-closed server hears the end, and what it sends still arrives', async () => {
  const { proxy, client, serverSockets } = await throughProxy();
  const socket = await client();
  await echoed(socket, 'a');
  const server = serverSockets[0] as Socket;
  server.unpipe(server);
  const end = once(server, 'end');
  proxy.apply({ kind: 'half-close', side: 'server' });
  server.resume();
  await end;
  const arrived = once(socket, 'data');
  server.write('late');
  expect(String((await arrived)[0])).toBe('late');
});

test('a connection that is reset in the turn in which it was half-closed is closed and forgotten', async () => {
  const { proxy, event, client } = await throughProxy();
  const socket = await client();
  socket.on('error', () => {});
  await echoed(socket, 'hello');
  const close = once(socket, 'close');
  proxy.apply({ kind: 'half-close', side: 'client' });
  proxy.apply({ kind: 'reset' });
  expect(await event('ended')).toMatchObject({ reason: 'reset' });
  // Its other end is closed too: no descriptor is left.
  socket.end();
  await close;
  expect(proxy.linkCount).toBe(0);
});

test('a connection in a black hole tells neither side that the other is gone, and is forgotten when both are', async () => {
  const { proxy, event, client, serverSockets } = await throughProxy();
  const socket = await client();
  await echoed(socket, 'a');
  proxy.apply({ kind: 'black-hole', forMs: undefined });
  expect(proxy.isHealthy).toBe(false);
  const server = serverSockets[0] as Socket;
  let heard = '';
  server.on('data', (bytes) => {
    heard += String(bytes);
  });
  server.on('end', () => {
    heard += 'end';
  });
  socket.end('nobody hears this');
  // Another connection passes; when its bytes are back, those of the first would be there.
  const other = await client();
  expect(await echoed(other, 'b')).toBe('b');
  expect(heard).toBe('');
  expect(proxy.linkCount).toBe(2);
  server.end();
  expect(await event('ended')).toMatchObject({ link: 1, reason: 'black-hole', upBytes: 1 });
  expect(proxy.linkCount).toBe(1);
});

test('an outage holds old and new connections, and everything passes when it is over', async () => {
  const { proxy, event, client } = await throughProxy();
  const socket = await client();
  await echoed(socket, 'a');
  proxy.apply({ kind: 'black-hole', forMs: 20 });
  expect(proxy.isHealthy).toBe(false);
  const other = await client();
  const [first, second] = await Promise.all([echoed(socket, 'held'), echoed(other, 'new')]);
  expect([first, second]).toEqual(['held', 'new']);
  expect(await event('over')).toMatchObject({ fault: { kind: 'black-hole' } });
  expect(proxy.isHealthy).toBe(true);
});

test('heal takes back a delay that would last for ever', async () => {
  const { proxy, client } = await throughProxy();
  const socket = await client();
  proxy.apply({ kind: 'delay', delayMs: 3_600_000, jitterMs: 0, forMs: undefined });
  const answer = echoed(socket, 'a');
  // The byte is there before the delay ends.
  await new Promise((resolve) => setImmediate(resolve));
  proxy.apply({ kind: 'heal' });
  expect(await answer).toBe('a');
});

test('connections above the maximum are reset at once', async () => {
  const { proxy, event, client } = await throughProxy({ connectionsMax: 1, bufferedBytesMax: 1024 });
  const socket = await client();
  await echoed(socket, 'a');
  const refused = connect(proxy.address);
  expect((await once(refused, 'error'))[0]).toMatchObject({ code: 'ECONNRESET' });
  expect(await event('refused')).toMatchObject({ connectionsMax: 1 });
  expect(await echoed(socket, 'b')).toBe('b');
});

test('a target that refuses is told by a reset', async () => {
  const { port, server } = await echoServer();
  await new Promise((resolve) => server.close(resolve));
  const proxy = await ChaosProxy.open({ target: { host: '127.0.0.1', port }, random: () => 0 });
  opened.push(proxy);
  expect((await once(connect(proxy.address), 'error'))[0]).toMatchObject({ code: 'ECONNRESET' });
  await proxy.close();
  expect(proxy.linkCount).toBe(0);
});
