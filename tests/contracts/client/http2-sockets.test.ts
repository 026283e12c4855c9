/** The client's HTTP/2 on real sockets, against the server of node:http2: keepalive, hedging, TLS, GOAWAY. */
import { once } from 'node:events';
import { createServer as createHttp1Server } from 'node:http';
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2Session,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type ClientOptions, createClient, MillraceError } from '@millrace/client';
import { type GrpcTransportOptions, grpcTransport } from '@millrace/client/grpc';
import { testAuthority, testCertificate } from '@millrace/http/testing';
import { ChaosProxy } from 'millrace/internal';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { eventually } from '../../support/eventually.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0).reverse()) await close();
});

/** `ready` of ServerReadyResponse is true, behind the prefix of a message. */
const readyMessage = Buffer.from([0, 0, 0, 0, 2, 8, 1]);

function answer(stream: ServerHttp2Stream): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(readyMessage);
}

interface ForeignServer {
  readonly port: number;
  readonly sessions: readonly Http2Session[];
  readonly streams: readonly ServerHttp2Stream[];
  /** The index of the session of each stream. */
  readonly sessionOf: readonly number[];
  readonly openSessions: () => number;
}

/** `onStream` gets the number of the call, from 1 on. */
async function foreignServer(
  onStream: (stream: ServerHttp2Stream, number: number) => void,
  tls?: SecureServerOptions,
): Promise<ForeignServer> {
  const server: Http2Server | Http2SecureServer = tls === undefined ? createServer() : createSecureServer(tls);
  const sessions: Http2Session[] = [];
  const streams: ServerHttp2Stream[] = [];
  const sessionOf: number[] = [];
  server.on('session', (session: Http2Session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    streams.push(stream);
    sessionOf.push(sessions.indexOf(stream.session as Http2Session));
    onStream(stream, streams.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const openSessions = (): number => sessions.filter(({ destroyed }) => !destroyed).length;
  return { port: (server.address() as AddressInfo).port, sessions, streams, sessionOf, openSessions };
}

interface Relay {
  readonly port: number;
  /** For each connection: the client has closed it. */
  readonly closedByClient: readonly Promise<void>[];
}

/**
 * Passes connections on and sees when the client closes one. The server of node:http2 does not: after a GOAWAY and the end of
 * its last stream it stops reading from the socket, and does not get to the end of what the client sent.
 */
async function relayTo(port: number): Promise<Relay> {
  const closedByClient: Promise<void>[] = [];
  const sockets: Socket[] = [];
  const relay = createTcpServer((client) => {
    const server = connect(port, '127.0.0.1');
    sockets.push(client, server);
    closedByClient.push(
      new Promise((resolve) => {
        // The end of what the client sends, or its reset; nothing that the server does leads to either.
        client.once('end', resolve);
        client.once('error', () => resolve());
      }),
    );
    for (const socket of [client, server]) socket.on('error', () => {});
    client.pipe(server).pipe(client);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return { port: (relay.address() as AddressInfo).port, closedByClient };
}

function clientOf(url: string, transport: GrpcTransportOptions = {}, options: ClientOptions = {}) {
  const client = createClient(url, { serviceConfig: {}, ...options, transport: grpcTransport(transport) });
  closing.push(() => client.close());
  return client;
}

async function failureOf(promise: Promise<unknown>): Promise<MillraceError> {
  const error: unknown = await promise.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(MillraceError);
  return error as MillraceError;
}

describe('keepalive', () => {
  test('a server that is silent for long and answers pings keeps its call', async () => {
    let pings = 0;
    const server = await foreignServer((stream) => {
      stream.session?.on('ping', () => {
        pings += 1;
        if (pings === 3) answer(stream);
      });
    });
    const client = clientOf(`http://127.0.0.1:${server.port}`, { keepaliveMs: 20, keepaliveTimeoutMs: 60_000 });
    expect(await client.ready()).toBe(true);
    expect(pings).toBeGreaterThanOrEqual(3);
    expect(server.sessions).toHaveLength(1);
  });

  test('a connection in which nothing passes any more fails its calls, and the next call gets another', async () => {
    const server = await foreignServer((stream, number) => {
      if (number > 1) answer(stream);
    });
    const target = { host: '127.0.0.1', port: server.port };
    const link = await ChaosProxy.open({ target, random: () => 0.5 });
    closing.push(() => link.close());
    const client = clientOf(`http://127.0.0.1:${link.address.port}`, { keepaliveMs: 50, keepaliveTimeoutMs: 50 });
    const failing = failureOf(client.ready());
    await eventually('the call is there', () => server.streams.length === 1);
    link.apply({ kind: 'black-hole', forMs: undefined });
    const error = await failing;
    expect(error).toMatchObject({ code: 'unreachable', wasSent: true });
    expect(error.message).toContain('was silent for');
    expect(await client.ready()).toBe(true);
    expect(server.sessions).toHaveLength(2);
  });
});

describe('hedging', () => {
  const hedging = { methodConfig: [{ name: [{}], hedgingPolicy: { maxAttempts: 3, hedgingDelay: '0.02s' } }] };

  test('the second attempt answers, and the first is reset', async () => {
    const server = await foreignServer((stream, number) => {
      if (number === 2) answer(stream);
    });
    const attempts: number[] = [];
    const client = clientOf(
      `http://127.0.0.1:${server.port}`,
      {},
      {
        serviceConfig: hedging,
        observe: (event) => {
          if (event.kind === 'attempt-started') attempts.push(event.attempt);
        },
      },
    );
    expect(await client.ready()).toBe(true);
    expect(attempts.slice(0, 2)).toEqual([1, 2]);
    await eventually('the others are closed', () => server.streams.every(({ closed }) => closed));
    // CANCEL
    expect(server.streams[0]?.rstCode).toBe(8);
    expect(server.sessions).toHaveLength(1);
  });
});

describe('GOAWAY', () => {
  const retrying = {
    methodConfig: [
      { name: [{}], retryPolicy: { maxAttempts: 3, initialBackoff: '0.01s', maxBackoff: '1s', backoffMultiplier: 2 } },
    ],
  };

  test('calls that the server has taken are answered, the one behind them goes to another connection', async () => {
    const server = await foreignServer((stream, number) => {
      if (number === 2) {
        // The first call was taken, this one was not.
        stream.session?.goaway(0, server.streams[0]?.id);
      } else if (number === 3) {
        answer(stream);
        answer(server.streams[0] as ServerHttp2Stream);
      } else if (number > 3) answer(stream);
    });
    const relay = await relayTo(server.port);
    const attempts: number[] = [];
    // Time stands still: the call is sent again at once. No policy allows a retry, and the first connection is still in use.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const client = clientOf(
      `http://127.0.0.1:${relay.port}`,
      { connectionsMax: 1 },
      {
        observe: (event) => {
          if (event.kind === 'attempt-started') attempts.push(event.attempt);
        },
      },
    );
    expect(await Promise.all([client.ready(), client.ready()])).toEqual([true, true]);
    expect(attempts).toEqual([1, 1, 2]);
    expect(server.sessions).toHaveLength(2);
    expect(server.sessionOf).toEqual([0, 0, 1]);
    await relay.closedByClient[0];
    // The keepalive of the second connection is left.
    expect(vi.getTimerCount()).toBe(1);
    expect(await client.ready()).toBe(true);
    expect(server.sessionOf).toEqual([0, 0, 1, 1]);
  });

  test('a connection without calls is closed, with its timer, and the next call gets another', async () => {
    const server = await foreignServer(answer);
    const relay = await relayTo(server.port);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const client = clientOf(`http://127.0.0.1:${relay.port}`);
    expect(await client.ready()).toBe(true);
    expect(vi.getTimerCount()).toBe(1);
    server.sessions[0]?.goaway();
    await relay.closedByClient[0];
    expect(vi.getTimerCount()).toBe(0);
    expect(await client.ready()).toBe(true);
    expect(server.sessionOf).toEqual([0, 1]);
  });

  test('a server that shuts down in order loses no call', async () => {
    const server = await foreignServer((stream, number) => {
      answer(stream);
      if (number % 5 === 0) stream.session?.close();
    });
    const client = clientOf(`http://127.0.0.1:${server.port}`, {}, { serviceConfig: retrying });
    for (let count = 0; count < 20; count++) expect(await client.ready()).toBe(true);
    expect(server.sessions.length).toBeGreaterThan(3);
  });

  test('a client that is closed leaves no connection behind', async () => {
    const server = await foreignServer((stream, number) => {
      if (number > 1) answer(stream);
    });
    const client = clientOf(`http://127.0.0.1:${server.port}`);
    const pending = failureOf(client.ready());
    await eventually('the call is there', () => server.streams.length === 1);
    client.close();
    expect((await pending).code).toBe('unreachable');
    await eventually('the connection is closed', () => server.openSessions() === 0);
  });
});

describe('calls that wait for room', () => {
  /** More than may wait at once. */
  const stoppedCalls = 10_001;

  test('one that is stopped leaves the queue', async () => {
    let onLimited = (): void => {};
    const limited = new Promise<void>((resolve) => {
      onLimited = resolve;
    });
    const server = await foreignServer((stream, number) => {
      if (number > 1) answer(stream);
      else stream.session?.settings({ maxConcurrentStreams: 1 }, () => onLimited());
    });
    const client = clientOf(`http://127.0.0.1:${server.port}`, { connectionsMax: 1 });
    const first = client.ready();
    await limited;
    for (let count = 0; count < stoppedCalls; count++) {
      const controller = new AbortController();
      const stopped = client.ready({ signal: controller.signal });
      controller.abort();
      await expect(stopped).rejects.toThrow('aborted');
    }
    const waiting = client.ready();
    answer(server.streams[0] as ServerHttp2Stream);
    expect(await Promise.all([first, waiting])).toEqual([true, true]);
    expect(server.streams).toHaveLength(2);
  });
});

test('a header value that is no text is refused, and costs other calls nothing', async () => {
  const server = await foreignServer((_stream, number) => {
    if (number === 2) for (const one of server.streams) answer(one);
  });
  const values: unknown[] = ['text', 5, undefined, null, 'text'];
  const client = clientOf(
    `http://127.0.0.1:${server.port}`,
    {},
    { headers: () => [['x-value', values.shift() as string]] },
  );
  const first = client.ready();
  for (let count = 0; count < 3; count++) {
    await expect(client.ready()).rejects.toThrow('the header field "x-value" cannot be sent');
  }
  expect(await Promise.all([first, client.ready()])).toEqual([true, true]);
  expect(server.sessions).toHaveLength(1);
});

describe('a server of another protocol is told apart', () => {
  const authority = testAuthority('client-protocol-test');

  test('HTTP/1.1', async () => {
    const server = createHttp1Server((_request, response) => response.end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const error = await failureOf(clientOf(`http://127.0.0.1:${port}`).ready());
    expect(error.message).toContain('the server does not answer in HTTP/2, which gRPC needs');
  });

  test('TLS, where the URL has http', async () => {
    const server = await foreignServer(answer, testCertificate('server', authority));
    const error = await failureOf(clientOf(`http://127.0.0.1:${server.port}`).ready());
    expect(error.message).toContain('the server closed the connection without an answer in HTTP/2; is it https://?');
  });

  test('no TLS, where the URL has https', async () => {
    const server = await foreignServer(answer);
    const error = await failureOf(clientOf(`https://localhost:${server.port}`).ready());
    expect(error.message).toBe(`localhost:${server.port} cannot be reached: its answer is not TLS; is it http://?`);
  });
});

describe('TLS', () => {
  const authority = testAuthority('client-http2-test');
  const { cert, key } = testCertificate('server', authority);

  test('a server is spoken to whose certificate is known, and no other', async () => {
    const server = await foreignServer(answer, { cert, key });
    const url = `https://localhost:${server.port}`;
    expect(await clientOf(url, { tls: { ca: authority.cert } }).ready()).toBe(true);
    expect((server.sessions[0] as Http2Session & { alpnProtocol: string }).alpnProtocol).toBe('h2');
    const error = await failureOf(clientOf(url).ready());
    expect(error).toMatchObject({ code: 'unreachable', wasSent: false });
    expect(error.message).toMatch(/certificate/);
    const other = testAuthority('another');
    expect((await failureOf(clientOf(url, { tls: { ca: other.cert } }).ready())).code).toBe('unreachable');
    expect(server.streams).toHaveLength(1);
  });

  test('a certificate of the client is presented where the server asks for one', async () => {
    const server = await foreignServer(answer, {
      ...{ cert, key, ca: authority.cert },
      ...{ requestCert: true, rejectUnauthorized: true },
    });
    const url = `https://localhost:${server.port}`;
    const own = testCertificate('client', authority);
    expect(await clientOf(url, { tls: { ca: authority.cert, cert: own.cert, key: own.key } }).ready()).toBe(true);
    expect((await failureOf(clientOf(url, { tls: { ca: authority.cert } }).ready())).code).toBe('unreachable');
    expect(server.streams).toHaveLength(1);
  });

  test('a server that speaks only HTTP/1.1 is sent nothing', async () => {
    let received = 0;
    const server = createTlsServer({ cert, key, ALPNProtocols: ['http/1.1'] }, (socket) => {
      socket.on('data', ({ length }) => {
        received += length;
      });
    });
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const client = clientOf(`https://localhost:${port}`, { tls: { ca: authority.cert } });
    expect(await failureOf(client.ready())).toMatchObject({ code: 'unreachable', wasSent: false });
    expect(received).toBe(0);
  });
});
