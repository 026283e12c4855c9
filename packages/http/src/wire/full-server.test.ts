/** Servers at the limits of their connections, over real sockets. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { errorCode, frameType, readUint32BigEndian } from '@millrace/http2';
import { framesFrom, getFields, headers, hello } from '@millrace/http2/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpHandler, HttpResponse, HttpServer, Peer } from '../exchange.ts';
import { testAuthority } from '../testing/certificates.ts';
import { AddressRanges } from './address-ranges.ts';
import { resolveHttpLimits } from './config.ts';
import { ConnectionLimiter, type ConnectionLimits } from './connection-limiter.ts';
import { type HttpServerOptions, serveHttp } from './serve.ts';

const { cert: certificate, key } = testAuthority('localhost');
const servers: HttpServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close();
});

/** Idle connections stay. */
const never = Number.POSITIVE_INFINITY;
const quick: HttpHandler = () => ({ status: 204, headers: [] });

async function serve(handler: HttpHandler, options: HttpServerOptions): Promise<HttpServer> {
  const server = await serveHttp(handler, options);
  servers.push(server);
  return server;
}

class Client {
  readonly socket: Socket;
  readonly closed: Promise<Buffer>;
  readonly #heard: Buffer[] = [];
  #onHeard: (() => void) | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      this.#heard.push(piece);
      this.#onHeard?.();
    });
    this.closed = new Promise((resolve) => {
      socket.once('end', () => resolve(this.heard));
      socket.once('close', () => resolve(this.heard));
    });
  }

  get heard(): Buffer {
    return Buffer.concat(this.#heard);
  }

  /** Resolves when something has come that fits. */
  async hears(isIt: (heard: Buffer) => boolean): Promise<void> {
    while (!isIt(this.heard)) {
      await new Promise<void>((resolve, reject) => {
        this.#onHeard = resolve;
        void this.closed.then(() => reject(new Error(`closed after ${this.heard.toString('latin1')}`)));
      });
    }
  }
}

function dial(to: HttpServer, localAddress = '127.0.0.1'): Client {
  return new Client(connect({ port: to.port, host: '127.0.0.1', localAddress }));
}

/** A connection over HTTP/1.1 that has had one request answered and is kept. */
async function dialOnce(to: HttpServer, localAddress?: string): Promise<Client> {
  const client = dial(to, localAddress);
  client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await client.hears((heard) => heard.includes('HTTP/1.1 204'));
  return client;
}

const isOpen = ({ socket }: Client) => socket.readyState === 'open';

describe('at connectionsPerAddressMax', () => {
  const full: HttpServerOptions = { connectionsPerAddressMax: 2, evictionIdleMsMin: 0 };

  test('an idle HTTP/1.1 connection ends cleanly for a new one', async () => {
    const target = await serve(quick, full);
    const [first, second] = [await dialOnce(target), await dialOnce(target)];
    const third = await dialOnce(target);
    const goner = await Promise.race([first.closed.then(() => first), second.closed.then(() => second)]);
    expect(goner.socket.errored).toBeNull();
    expect([first, second, third].filter(isOpen)).toHaveLength(2);
    expect(isOpen(third)).toBe(true);
  });

  test('an idle HTTP/2 connection is told which requests were served', async () => {
    const target = await serve(quick, { ...full, connectionsPerAddressMax: 1 });
    const first = dial(target);
    first.socket.write(Buffer.concat([hello, headers(1, getFields, true)]));
    await first.hears((heard) => framesFrom(heard).some(({ type }) => type === frameType.headers));
    await dialOnce(target);
    const goaway = framesFrom(await first.closed).find(({ type }) => type === frameType.goaway);
    expect(goaway && [readUint32BigEndian(goaway.payload, 0), readUint32BigEndian(goaway.payload, 4)]).toEqual([
      1,
      errorCode.noError,
    ]);
  });

  test('connections that never said anything make room too, and slow heads', async () => {
    const target = await serve(quick, full);
    const [silent, slow] = [dial(target), dial(target)];
    slow.socket.write('GET / HTTP/1.1\r\nhost: x\r\nx-slow: ');
    await Promise.all([dialOnce(target), silent.closed]);
    await Promise.all([dialOnce(target), slow.closed]);
  });

  test('a connection with a request under way is never closed: the new one is', async () => {
    const waiting: ((response: HttpResponse) => void)[] = [];
    const target = await serve(() => new Promise<HttpResponse>((resolve) => waiting.push(resolve)), full);
    const first = dial(target);
    first.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const second = dial(target);
    second.socket.write(Buffer.concat([hello, headers(1, getFields, true)]));
    while (waiting.length < 2) await new Promise(setImmediate);
    expect(await dial(target).closed).toEqual(Buffer.alloc(0));
    for (const respond of waiting) respond({ status: 204, headers: [] });
    await first.hears((heard) => heard.includes('HTTP/1.1 204'));
    await second.hears((heard) => framesFrom(heard).some(({ type }) => type === frameType.headers));
  });

  test('other addresses are served', async () => {
    const target = await serve(quick, { connectionsPerAddressMax: 20, evictionIdleMsMin: never });
    const crowd = Array.from({ length: 60 }, () => dial(target, '127.0.0.2'));
    let refused = 0;
    for (const { closed } of crowd) void closed.then(() => refused++);
    while (refused < 40) await new Promise(setImmediate);
    for (const address of ['127.0.0.1', '127.0.0.3']) await dialOnce(target, address);
    expect(crowd.filter(isOpen)).toHaveLength(20);
  });
});

describe('a connection limiter shared by several servers', () => {
  const limiterWith = (limits: Partial<ConnectionLimits>) => new ConnectionLimiter(resolveHttpLimits(limits));

  test('counts their connections together, and keeps some for operators', async () => {
    const limiter = limiterWith({ connectionsMax: 2, operatorConnections: 1, evictionIdleMsMin: never });
    const [one, other] = [await serve(quick, { limiter }), await serve(quick, { limiter })];
    const operators = await serve(quick, { limiter, isForOperators: true });
    const kept = [await dialOnce(one), await dialOnce(other)];
    expect(await dial(one).closed).toEqual(Buffer.alloc(0));
    expect(await dial(other).closed).toEqual(Buffer.alloc(0));
    await dialOnce(operators);
    expect(await dial(operators).closed).toEqual(Buffer.alloc(0));
    expect(kept.filter(isOpen)).toHaveLength(2);
    expect(limiter.connections).toBe(3);
  });

  test('still counts the others when one of them closes, handshakes included', async () => {
    const limiter = limiterWith({});
    const tls = { cert: certificate, key };
    const [one, other] = [await serve(quick, { limiter, tls }), await serve(quick, { limiter, tls })];
    const [ending, staying] = [dial(one), dial(other)];
    while (limiter.handshakes < 2) await new Promise(setImmediate);
    await one.close();
    await ending.closed;
    expect([limiter.handshakes, isOpen(staying)]).toEqual([1, true]);
    await other.close();
    while (limiter.connections > 0) await new Promise(setImmediate);
  });

  test('does not allow connection limits on its servers', async () => {
    const limiter = limiterWith({});
    await expect(serve(quick, { limiter, connectionsMax: 5, handshakesMax: 5 })).rejects.toThrow(
      /connectionsMax: has no effect beside a shared connection limiter[\s\S]*handshakesMax/,
    );
  });
});

describe('TLS handshakes', () => {
  const tls = { cert: certificate, key };

  test('over handshakesPerAddressMax are refused, and finished ones no longer count', async () => {
    const target = await serve(quick, { tls, handshakesPerAddressMax: 1, evictionIdleMsMin: never });
    const finished = connectTls({ ca: certificate, host: '127.0.0.1', port: target.port });
    sockets.push(finished);
    await new Promise((resolve) => finished.once('secureConnect', resolve));
    const stalled = dial(target);
    expect(await Promise.race([stalled.closed, dial(target).closed])).toEqual(Buffer.alloc(0));
    expect(finished.readyState).toBe('open');
  });

  test('that stall are closed for new ones', async () => {
    const limiter = new ConnectionLimiter(resolveHttpLimits({ handshakesPerAddressMax: 1, evictionIdleMsMin: 0 }));
    const target = await serve(quick, { tls, limiter });
    const stalled = dial(target);
    while (limiter.handshakes === 0) await new Promise(setImmediate);
    const client = new Client(connectTls({ ca: certificate, host: '127.0.0.1', port: target.port }));
    client.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await client.hears((heard) => heard.includes('HTTP/1.1 204'));
    expect(await stalled.closed).toEqual(Buffer.alloc(0));
    expect([limiter.handshakes, limiter.connections]).toEqual([0, 1]);
  });
});

test('a handler sees who owns the connection, and whether a trusted proxy holds it', async () => {
  const peers: Peer[] = [];
  const handler: HttpHandler = ({ peer }) => {
    peers.push(peer);
    return { status: 204, headers: [] };
  };
  const target = await serve(handler, { trustedProxies: new AddressRanges(['127.0.0.8/29']) });
  for (const address of ['127.0.0.2', '127.0.0.9']) await dialOnce(target, address);
  expect(peers.map(({ address, owner, isTrustedProxy }) => [address, owner, isTrustedProxy])).toEqual([
    ['127.0.0.2', '127.0.0.2', false],
    ['127.0.0.9', '127.0.0.9', true],
  ]);
});

test('descriptors that the limiter reserves are not used for connections', async () => {
  const limiter = new ConnectionLimiter(resolveHttpLimits({ evictionIdleMsMin: never }), { descriptorsMax: () => 3 });
  const target = await serve(quick, { limiter });
  expect(await dial(target).closed).toEqual(Buffer.alloc(0));
  expect(limiter.connections).toBe(0);
});
