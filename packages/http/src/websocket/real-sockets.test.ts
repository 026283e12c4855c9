import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { HttpServer } from '../exchange.ts';
import { testAuthority } from '../testing/certificates.ts';
import { resolveHttpLimits } from '../wire/config.ts';
import { ConnectionLimiter } from '../wire/connection-limiter.ts';
import { type HttpServerOptions, serveWire } from '../wire/serve.ts';
import { clientFrame, serverFrames, told } from './testing/frames.ts';
import { requireWebSocket, resolveWebSocketConfig, upgradeToWebSocket, type WebSocketOptions } from './upgrade.ts';
import type { OnWebSocket } from './websocket.ts';

let server: HttpServer | undefined;
const sockets: { destroy(): void }[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

/** Sends messages back, as the client reads them. */
const echo: OnWebSocket = (connection) => ({
  onMessage: (data, isBinary) => {
    const hasRoom = isBinary ? connection.send(data) : connection.sendText(data);
    if (!hasRoom) connection.pause();
  },
  onDrain: () => connection.resume(),
  onClose: () => {},
});

async function serve(
  onWebSocket: OnWebSocket = echo,
  options: HttpServerOptions = {},
  webSocket: Partial<WebSocketOptions> = {},
): Promise<HttpServer> {
  const config = resolveWebSocketConfig({ subprotocols: ['echo'], ...webSocket });
  server = await serveWire(requireWebSocket, {
    onUpgrade: (exchange) => upgradeToWebSocket(exchange, config, onWebSocket),
    ...options,
  });
  return server;
}

const handshake =
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

interface Raw {
  readonly socket: Socket;
  /** What the server said after its head, in frames, once it has closed the connection. */
  readonly closed: Promise<string[]>;
}

/** A client that writes bytes of its own. */
async function dial(to: HttpServer, allowHalfOpen = false): Promise<Raw> {
  const socket = connect({ port: to.port, host: to.host, allowHalfOpen });
  sockets.push(socket);
  const heard: Buffer[] = [];
  socket.on('data', (piece: Buffer) => heard.push(piece));
  socket.on('error', () => {});
  socket.write(handshake);
  const closed = new Promise((resolve) => socket.once('close', resolve)).then(() => {
    const all = Buffer.concat(heard);
    return serverFrames(all.subarray(all.indexOf('\r\n\r\n') + 4)).map(told);
  });
  await once(socket, 'data');
  return { socket, closed };
}

/** The client of `ws`. */
async function open(url: string, options: { readonly ca?: string } = {}): Promise<WebSocket> {
  const client = new WebSocket(url, ['echo'], options);
  sockets.push({ destroy: () => client.terminate() });
  client.on('error', () => {});
  await once(client, 'open');
  return client;
}

describe('the client of ws', () => {
  for (const isEncrypted of [false, true]) {
    test(`gets its messages back, ${isEncrypted ? 'encrypted' : 'plain'}`, async () => {
      const { cert, key } = testAuthority('localhost');
      const { port } = await serve(echo, isEncrypted ? { tls: { cert, key } } : {});
      const client = await open(`${isEncrypted ? 'wss' : 'ws'}://localhost:${port}/`, { ca: cert });
      expect(client.protocol).toBe('echo');
      const large = Buffer.alloc(3_000_000, 'large');
      for (const message of ['hello', large]) {
        client.send(message);
        const [data, isBinary] = (await once(client, 'message')) as [Buffer, boolean];
        expect(isBinary).toBe(message !== 'hello');
        expect(data.equals(Buffer.from(message))).toBe(true);
      }
      client.ping();
      await once(client, 'pong');
      client.close(4321, 'bye');
      expect((await once(client, 'close')).map(String)).toEqual(['4321', '']);
    });
  }

  test('is told 1001 when the server drains, and the drain ends', async () => {
    const target = await serve();
    const client = await open(`ws://localhost:${target.port}/`);
    const closed = once(client, 'close');
    await target.drain();
    expect((await closed)[0]).toBe(1001);
  });
});

test('a WebSocket counts as a connection of its address until it is closed', async () => {
  const limiter = new ConnectionLimiter(resolveHttpLimits({ connectionsPerAddressMax: 2 }));
  const busy: OnWebSocket = (connection) => {
    connection.isBusy = true;
    return { onMessage: () => {}, onDrain: () => {}, onClose: () => {} };
  };
  const target = await serve(busy, { limiter });
  const first = await dial(target);
  await dial(target);
  expect(limiter.connections).toBe(2);
  const third = connect(target.port, target.host);
  third.on('error', () => {});
  await once(third, 'close');
  expect(limiter.refused.connectionsPerAddressMax).toBe(1);
  first.socket.destroy();
  while (limiter.connections > 1) await new Promise(setImmediate);
  await dial(target);
});

test('an idle WebSocket is closed with 1001 for a new connection', async () => {
  const limiter = new ConnectionLimiter(resolveHttpLimits({ connectionsPerAddressMax: 1, evictionIdleMsMin: 0 }));
  const target = await serve(echo, { limiter });
  const first = await dial(target);
  await dial(target);
  expect(await first.closed).toEqual(['close 1001 the connection was idle']);
});

test('a client that half-closes is closed', async () => {
  const { socket, closed } = await dial(await serve(), true);
  socket.write(clientFrame(1, 'last words'));
  socket.end();
  expect(await closed).toEqual(['text last words']);
});

test('a server without a peer that answers closes in time', async () => {
  const target = await serve(echo, {}, { closeMsMax: 100 });
  const { closed } = await dial(target);
  await target.drain();
  expect(await closed).toEqual([expect.stringMatching('^close 1001 ')]);
});

describe('attacks', () => {
  /** What an attack may make the process hold beyond what it held before. */
  const memoryBytesMax = 48 * 1024 * 1024;
  const attackBytes = 128 * 1024 * 1024;

  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  function heldBytes(): number {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }

  /** Writes frames until the server hangs up, reads no more from it, or has taken everything. */
  async function flood(socket: Socket, frames: Buffer, isStuck: () => boolean): Promise<number> {
    let sent = 0;
    while (!socket.destroyed && socket.writable && sent < attackBytes && !isStuck()) {
      sent += frames.length;
      if (!socket.write(frames)) await new Promise(setImmediate);
    }
    return sent;
  }

  test('a huge announced frame is refused at once and costs nothing', async () => {
    const { socket, closed } = await dial(await serve());
    socket.write(clientFrame(2, '', { announcedBytes: 2 ** 40 }));
    expect(await closed).toEqual([expect.stringMatching('^close 1009 ')]);
  });

  test('an announced frame within the limit costs what has arrived of it', async () => {
    const target = await serve();
    const before = heldBytes();
    for (let count = 0; count < 50; count++) {
      const { socket } = await dial(target);
      socket.write(clientFrame(2, Buffer.alloc(100), { announcedBytes: 16 * 1024 * 1024 }));
    }
    expect(heldBytes() - before).toBeLessThan(memoryBytesMax);
  });

  test('a message of 10,000 fragments of one byte is refused by their number', async () => {
    const { socket, closed } = await dial(await serve());
    const part = clientFrame(0, 'x', { isFinal: false });
    socket.write(
      Buffer.concat([clientFrame(1, 'x', { isFinal: false }), ...Array.from({ length: 10_000 }, () => part)]),
    );
    expect(await closed).toEqual(['close 1008 the message has more than 1024 fragments']);
  });

  test('a flood of pings is ended', async () => {
    const { socket, closed } = await dial(await serve());
    socket.write(Buffer.concat(Array.from({ length: 5000 }, () => clientFrame(9, 'x'))));
    const said = await closed;
    expect(said.at(-1)).toBe('close 1008 too many ping and pong frames');
  });

  test('a client that sends and never reads is not read any more, whatever the application does', async () => {
    let echoed = 0;
    const careless: OnWebSocket = (connection) => ({
      onMessage: (data) => {
        echoed += data.length;
        connection.send(data);
      },
      onDrain: () => {},
      onClose: () => {},
    });
    const target = await serve(careless);
    const { socket } = await dial(target);
    socket.pause();
    const before = heldBytes();
    let quietTurns = 0;
    let seen = 0;
    const isStuck = () => {
      quietTurns = echoed === seen ? quietTurns + 1 : 0;
      seen = echoed;
      return quietTurns > 200;
    };
    await flood(socket, clientFrame(2, Buffer.alloc(1024 * 1024)), isStuck);
    // Kernel buffers of both directions, and twice outputBytesMax with one message above it.
    expect(echoed).toBeLessThan(attackBytes / 2);
    expect(heldBytes() - before).toBeLessThan(memoryBytesMax);
  });

  test('memory is given back after many connections', async () => {
    const target = await serve();
    const visit = async (): Promise<void> => {
      const { socket, closed } = await dial(target);
      socket.write(Buffer.concat([clientFrame(2, Buffer.alloc(10_000)), clientFrame(8)]));
      await closed;
      // What this client heard is not the server's.
      sockets.pop();
    };
    const growths: number[] = [];
    let before = heldBytes();
    for (let round = 0; round < 4; round++) {
      for (let count = 0; count < 150; count++) await visit();
      const now = heldBytes();
      growths.push(now - before);
      before = now;
    }
    // A leak shows in every round. Less than 4 KiB a connection, which is less than any holds.
    expect(Math.min(...growths)).toBeLessThan(150 * 4096);
  });
});
