import { get } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { HttpHandler, HttpResponse, HttpServer, Peer } from '../exchange.ts';
import { testAuthority } from '../testing/certificates.ts';
import { type HttpServerOptions, serveHttp, serveWire } from './serve.ts';
import { echoUpgrade } from './testing/echo-upgrade.ts';

const { cert: certificate, key } = testAuthority('localhost');

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

async function serve(handler: HttpHandler, options: HttpServerOptions = {}): Promise<HttpServer> {
  server = await serveHttp(handler, options);
  return server;
}

const version: HttpHandler = (request) => ({ status: 200, headers: [], body: Buffer.from(request.version) });

/** Sends text over a socket and resolves with everything that came until the server closed. */
function say(socket: Socket, text: string): Promise<string> {
  sockets.push(socket);
  let heard = '';
  socket.on('data', (piece: Buffer) => {
    heard += piece.toString('latin1');
  });
  socket.on('error', () => {});
  socket.write(text, 'latin1');
  return new Promise((resolve) => socket.once('close', () => resolve(heard)));
}

async function overHttp2(
  to: HttpServer,
  options: Parameters<typeof connectHttp2>[1] = {},
  scheme = 'http',
): Promise<string> {
  const session = connectHttp2(`${scheme}://127.0.0.1:${to.port}`, options);
  session.on('error', () => {});
  const stream = session.request({ ':path': '/' });
  let body = '';
  for await (const piece of stream) body += String(piece);
  session.destroy();
  return body;
}

const getOnce = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

describe('one port', () => {
  test('tells HTTP/1.1 from HTTP/2 by what arrives, also a byte at a time', async () => {
    const target = await serve(version);
    expect(await say(connect(target.port, target.host), getOnce)).toMatch(/\r\n\r\n1\.1$/);
    expect(await overHttp2(target)).toBe('2');
    const slow = connect(target.port, target.host);
    slow.setNoDelay(true);
    const heard = say(slow, '');
    for (const letter of 'PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n') {
      slow.write(letter);
      await new Promise(setImmediate);
    }
    expect(await heard).toMatch(/\r\n\r\n1\.1$/);
  });

  test('uses ALPN over TLS, and the first bytes if the client offered none', async () => {
    const target = await serve(version, { tls: { cert: certificate, key } });
    const tls = { ca: certificate, host: '127.0.0.1', port: target.port };
    expect(await overHttp2(target, { ca: certificate }, 'https')).toBe('2');
    expect(await say(connectTls({ ...tls, ALPNProtocols: ['http/1.1'] }), getOnce)).toMatch(/\r\n\r\n1\.1$/);
    expect(await say(connectTls(tls), getOnce)).toMatch(/\r\n\r\n1\.1$/);
  });

  test('a client that sends nothing is disconnected after prefaceMsMax', async () => {
    const target = await serve(version, { prefaceMsMax: 200 });
    expect(await say(connect(target.port, target.host), '')).toBe('');
    expect(await say(connect(target.port, target.host), 'PRI')).toBe('');
  });

  test('a TLS handshake that does not begin is disconnected after prefaceMsMax', async () => {
    const target = await serve(version, { prefaceMsMax: 200, tls: { cert: certificate, key } });
    expect(await say(connect(target.port, target.host), '')).toBe('');
  });

  test('plain text on a TLS port, and TLS on a plain port, are closed and harm nobody', async () => {
    const target = await serve(version, { tls: { cert: certificate, key } });
    await say(connect(target.port, target.host), getOnce);
    expect(await overHttp2(target, { ca: certificate }, 'https')).toBe('2');
    await target.close();
    const plain = await serve(version);
    const client = connectTls({ ca: certificate, host: plain.host, port: plain.port });
    await new Promise((resolve) => client.once('error', resolve));
    expect(await overHttp2(plain)).toBe('2');
  });
});

test('an answer that is streamed in large pieces reaches a client of HTTP/1.0', async () => {
  const piece = Buffer.alloc(300_000, 'a');
  async function* pieces(): AsyncIterable<Uint8Array> {
    for (let count = 0; count < 5; count++) yield piece;
  }
  const target = await serve(() => ({ status: 200, headers: [], body: pieces() }));
  const answer = await say(connect(target.port, target.host), 'GET / HTTP/1.0\r\nHost: x\r\n\r\n');
  expect(answer.slice(answer.indexOf('\r\n\r\n') + 4).length).toBe(5 * piece.length);
});

/** What a socket does not expose. */
interface SocketInside {
  readonly _handle: { setNoDelay(isOn: boolean): number };
}

test.each([
  ['plain', undefined],
  ['TLS', { cert: certificate, key }],
])('answers in several pieces are not delayed by the system on %s connections', async (_name, tls) => {
  const target = await serve(version, { tls });
  const client = connect(target.port, target.host);
  sockets.push(client);
  const { _handle: handle } = client as unknown as SocketInside;
  // The handles of all sockets share it, and this client does not call it.
  const setNoDelay = vi.spyOn(Object.getPrototypeOf(handle) as SocketInside['_handle'], 'setNoDelay');
  await say(client, 'neither HTTP nor TLS\r\n\r\n');
  const calls = setNoDelay.mock.calls.map(([isOn]) => isOn);
  setNoDelay.mockRestore();
  expect(calls).toEqual([true]);
});

test('connections over TLS are counted once, and uncounted when they close', async () => {
  const target = await serve(version, {
    connectionsMax: 2,
    evictionIdleMsMin: Number.POSITIVE_INFINITY,
    tls: { cert: certificate, key },
  });
  const tls = { ca: certificate, host: '127.0.0.1', port: target.port };
  const dial = async (): Promise<Socket> => {
    const socket = connectTls(tls);
    sockets.push(socket);
    socket.on('error', () => {});
    await new Promise((resolve) => {
      socket.once('secureConnect', resolve);
      socket.once('close', resolve);
    });
    return socket;
  };
  const first = await dial();
  const second = await dial();
  const third = await dial();
  expect([first.destroyed, second.destroyed, third.destroyed]).toEqual([false, false, true]);
  first.destroy();
  for (let next = third; next.destroyed; next = await dial());
});

describe('client certificates', () => {
  test('one that was verified is shown to the handler, over either version', async () => {
    const peers: Peer[] = [];
    const target = await serve(
      (request) => {
        peers.push(request.peer);
        return { status: 204, headers: [] };
      },
      { tls: { cert: certificate, key, ca: certificate, requestCert: true, rejectUnauthorized: true } },
    );
    const tls = { ca: certificate, cert: certificate, key };
    await overHttp2(target, tls, 'https');
    await say(connectTls({ ...tls, host: '127.0.0.1', port: target.port }), getOnce);
    expect(peers).toHaveLength(2);
    for (const peer of peers) {
      expect(peer.isEncrypted).toBe(true);
      expect(Buffer.from(peer.certificate as Uint8Array).toString('base64')).toBe(
        certificate.toString().replaceAll(/-----.*?-----|\n/g, ''),
      );
    }
  });

  test('a client without one is refused where one is required, and has none where it is not', async () => {
    const target = await serve(version, {
      tls: { cert: certificate, key, ca: certificate, requestCert: true, rejectUnauthorized: true },
    });
    await expect(overHttp2(target, { ca: certificate }, 'https')).rejects.toThrow();
    await target.close();
    let peer: Peer | undefined;
    const open = await serve(
      (request) => {
        peer = request.peer;
        return { status: 204, headers: [] };
      },
      { tls: { cert: certificate, key } },
    );
    await overHttp2(open, { ca: certificate }, 'https');
    expect(peer).toMatchObject({ isEncrypted: true, address: '127.0.0.1' });
    expect(peer?.certificate).toBeUndefined();
  });
});

test('an upgrade leaves the connection to another protocol, with the bytes that followed the request', async () => {
  const target = await serve(version, {
    onUpgrade: ({ headers, path }) => (headers.get('upgrade') === 'echo' ? echoUpgrade(`${path} `) : undefined),
  });
  const client = connect(target.port, target.host);
  const heard = say(client, 'GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst');
  client.once('data', () => client.write(' second.'));
  expect(await heard).toBe('HTTP/1.1 101 Switching Protocols\r\n\r\n/chat first second.');
  const declined = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: other\r\n\r\n';
  expect(await say(connect(target.port, target.host), declined)).toMatch(/\r\n\r\n1\.1$/);
});

describe('drain and close', () => {
  for (const isEncrypted of [false, true]) {
    test(`drain answers what is under way over both versions, ${isEncrypted ? 'encrypted' : 'plain'}, and then resolves`, async () => {
      const waiting: ((response: HttpResponse) => void)[] = [];
      const target = await serve(
        () => new Promise<HttpResponse>((resolve) => waiting.push(resolve)),
        isEncrypted ? { tls: { cert: certificate, key } } : {},
      );
      const session = connectHttp2(`${isEncrypted ? 'https' : 'http'}://127.0.0.1:${target.port}`, { ca: certificate });
      const stream = session.request({ ':path': '/' });
      const status = new Promise((resolve) => stream.once('response', (fields) => resolve(fields[':status'])));
      const closedSession = new Promise<void>((resolve) => session.once('close', () => resolve()));
      stream.resume();
      const client = isEncrypted
        ? connectTls({ ca: certificate, host: '127.0.0.1', port: target.port })
        : connect(target.port, target.host);
      const heard = say(client, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      while (waiting.length < 2) await new Promise(setImmediate);
      let isDrained = false;
      const drained = target.drain().then(() => {
        isDrained = true;
      });
      const refused = connect(target.port, target.host);
      await new Promise((resolve) => refused.once('error', resolve));
      expect(isDrained).toBe(false);
      for (const answer of waiting) answer({ status: 200, headers: [] });
      expect(await status).toBe(200);
      expect(await heard).toContain('connection: close');
      await closedSession;
      await drained;
    });
  }

  test('close cuts everything off and fires the signals', async () => {
    const reasons: string[] = [];
    let begun = 0;
    const target = await serve(({ signal }) => {
      begun++;
      signal.onCancel((reason) => reasons.push(reason));
      return new Promise<HttpResponse>(() => {});
    });
    const client = get({ port: target.port, host: target.host });
    const failed = new Promise((resolve) => client.once('error', resolve));
    const other = overHttp2(target).catch(() => 'broken');
    while (begun < 2) await new Promise(setImmediate);
    await target.close();
    await failed;
    await other;
    expect(reasons).toEqual(['cancelled', 'cancelled']);
  });

  test('a port that is taken is an error of the start', async () => {
    const target = await serve(version);
    await expect(serveWire(() => {}, { port: target.port })).rejects.toThrow(/EADDRINUSE/);
  });

  test('limits out of range are an error of the start', async () => {
    await expect(serveHttp(version, { streamsMax: 0 })).rejects.toThrow(/streamsMax/);
  });
});
