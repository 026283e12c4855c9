import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { BodyTooLarge, type HttpHandler, type HttpResponse, type HttpServer } from '../exchange.ts';
import { contractServerOverHttp1 } from '../exchange-contract/http1-client.ts';
import { describeExchange } from '../exchange-contract.ts';
import { type NodeHttpOptions, resolveNodeHttpConfig } from './config.ts';
import { splitTarget } from './request.ts';
import { serveNodeHttp } from './serve.ts';

describeExchange('node:http', async (handler, onError) =>
  contractServerOverHttp1(await serveNodeHttp(handler, { onError })),
);

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const hello: HttpHandler = () => ({ status: 200, headers: [], body: bytes('hello') });

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

async function serve(handler: HttpHandler, options: NodeHttpOptions = {}): Promise<HttpServer> {
  server = await serveNodeHttp(handler, options);
  return server;
}

/** A bare socket, for what a well-behaved client does not do. */
async function dial(to: HttpServer): Promise<{
  socket: Socket;
  send(text: string): void;
  until(text: string): Promise<string>;
  closed: Promise<string>;
}> {
  const socket = connect(to.port, to.host);
  sockets.push(socket);
  let received = '';
  let wake = () => {};
  socket.on('data', (piece: Buffer) => {
    received += piece.toString('latin1');
    wake();
  });
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  void closed.then(() => wake());
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    closed,
    send: (text) => socket.write(text, 'latin1'),
    until: async (text) => {
      while (!received.includes(text)) {
        if (socket.closed) throw new Error(`closed before ${JSON.stringify(text)}: ${received}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return received;
    },
  };
}

describe('expect: 100-continue', () => {
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n';

  test('a client is told to go on when the handler reads its body', async () => {
    const client = await dial(
      await serve(async ({ body }) => ({ status: 200, headers: [], body: await body.readAll(10) })),
    );
    client.send(head);
    await client.until('HTTP/1.1 100 Continue\r\n\r\n');
    client.send('abcde');
    expect(await client.until('abcde')).toContain('HTTP/1.1 200 OK');
  });

  test('a client whose body is too large is refused before it sends a byte of it', async () => {
    const client = await dial(
      await serve(async ({ body }) => {
        const refusal = await body.readAll(4).catch((error: unknown) => error);
        return { status: refusal instanceof BodyTooLarge ? 413 : 200, headers: [] };
      }),
    );
    client.send(head);
    const received = await client.closed;
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received.toLowerCase()).toContain('connection: close');
  });
});

describe('limits', () => {
  test('header fields over headerBytesMax are refused with 431', async () => {
    const client = await dial(await serve(hello, { headerBytesMax: 2048 }));
    client.send(`GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(4096)}\r\n\r\n`);
    expect(await client.closed).toMatch(/^HTTP\/1\.1 431 /);
  });

  test('more fields than headerFieldsMax are refused with 431 and never silently dropped', async () => {
    const listener = await serve(hello, { headerFieldsMax: 3 });
    const within = await dial(listener);
    within.send('GET / HTTP/1.1\r\nhost: x\r\na: 1\r\nb: 2\r\n\r\n');
    await within.until('HTTP/1.1 200 OK');
    const over = await dial(listener);
    over.send('GET / HTTP/1.1\r\nhost: x\r\na: 1\r\nb: 2\r\nc: 3\r\n\r\n');
    expect(await over.closed).toMatch(/^HTTP\/1\.1 431 /);
  });

  test('a request whose header fields do not end within headersTimeoutMs is cut off', async () => {
    const client = await dial(await serve(hello, { headersTimeoutMs: 40, requestTimeoutMs: 60_000 }));
    client.send('GET / HTTP/1.1\r\nhost: x\r\n');
    expect(await client.closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('a request whose body does not end within requestTimeoutMs is cut off', async () => {
    const client = await dial(
      await serve(async ({ body }) => ({ status: 200, headers: [], body: await body.readAll(10) }), {
        headersTimeoutMs: 40,
        requestTimeoutMs: 60,
      }),
    );
    client.send('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab');
    expect(await client.closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('an idle connection is closed after keepAliveTimeoutMs', async () => {
    const client = await dial(await serve(hello, { keepAliveTimeoutMs: 30 }));
    client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await client.closed).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('an answer that its client does not take for stallTimeoutMs is cut off and released', async () => {
    let release: () => void = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    const body = new Uint8Array(64 * 1024 * 1024);
    const client = await dial(await serve(() => ({ status: 200, headers: [], body, release }), { stallTimeoutMs: 50 }));
    client.socket.pause();
    client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await isReleased;
  });

  test('an answer whose source is silent for longer than stallTimeoutMs is not cut off', async () => {
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield bytes('first');
      await new Promise((resolve) => setTimeout(resolve, 120));
      yield bytes('last');
    }
    const client = await dial(await serve(() => ({ status: 200, headers: [], body: slow() }), { stallTimeoutMs: 20 }));
    client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await client.until('last');
  });

  test('a pipelined request may take longer than stallTimeoutMs', async () => {
    const client = await dial(
      await serve(
        async ({ path }) => {
          if (path === '/second') await new Promise((resolve) => setTimeout(resolve, 120));
          return { status: 200, headers: [], body: bytes(`<${path}>`) };
        },
        { stallTimeoutMs: 20 },
      ),
    );
    client.send('GET /first HTTP/1.1\r\nhost: x\r\n\r\nGET /second HTTP/1.1\r\nhost: x\r\n\r\n');
    await client.until('</second>');
  });

  test('a connection over connectionsMax is closed, and served again when there is room', async () => {
    const listener = await serve(hello, { connectionsMax: 1 });
    const first = await dial(listener);
    first.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await first.until('hello');
    const second = await dial(listener);
    expect(await second.closed).toBe('');
    first.socket.destroy();
    await first.closed;
    for (;;) {
      const third = await dial(listener);
      third.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
      const received = await Promise.race([third.until('hello').catch(() => ''), third.closed]);
      if (received !== '') break;
    }
  });

  test('an unwanted body is thrown away up to discardBytesMax, and then the connection is cut', async () => {
    const listener = await serve(hello, { discardBytesMax: 1000 });
    const polite = await dial(listener);
    polite.send(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n`);
    await polite.until('hello');
    polite.send(`${'x'.repeat(900)}GET /2 HTTP/1.1\r\nhost: x\r\n\r\n`);
    await polite.until('hello');
    const rude = await dial(listener);
    rude.send('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n');
    await rude.until('hello');
    rude.send('x'.repeat(5000));
    await rude.closed;
  });

  test('options out of range are all reported at once', () => {
    expect(() => resolveNodeHttpConfig({ port: 70_000, connectionsMax: 0, headersTimeoutMs: 9e5 })).toThrow(
      /port: must be a whole number from 0 to 65535, not 70000[\s\S]*connectionsMax[\s\S]*headersTimeoutMs: must not be above requestTimeoutMs/,
    );
    expect(resolveNodeHttpConfig({}).headerBytesMax).toBe(16_384);
  });
});

describe('drain and close', () => {
  test('drain lets the request in progress finish, says so, and takes no new connection', async () => {
    let finish: (response: HttpResponse) => void = () => {};
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const listener = await serve(() => {
      begin();
      return new Promise<HttpResponse>((answer) => {
        finish = answer;
      });
    });
    const idle = await dial(listener);
    const busy = await dial(listener);
    busy.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await begun;
    const drained = listener.drain();
    expect(await idle.closed).toBe('');
    const refused = connect(listener.port, listener.host);
    await new Promise((resolve) => refused.once('error', resolve));
    finish({ status: 200, headers: [], body: bytes('finished') });
    const received = await busy.closed;
    expect(received).toContain('finished');
    expect(received.toLowerCase()).toContain('connection: close');
    await drained;
  });

  test('a response that began before the drain closes its connection when it ends', async () => {
    let more: () => void = () => {};
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield bytes('first');
      await new Promise<void>((resolve) => {
        more = resolve;
      });
      yield bytes('last');
    }
    const listener = await serve(() => ({ status: 200, headers: [], body: slow() }));
    const client = await dial(listener);
    client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await client.until('first');
    const drained = listener.drain();
    more();
    expect(await client.closed).toContain('last');
    await drained;
  });

  test('close cuts what is in progress and fires its signal', async () => {
    let reason: string | undefined;
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const listener = await serve(({ signal }) => {
      signal.onCancel((why) => {
        reason = why;
      });
      begin();
      return new Promise<HttpResponse>(() => {});
    });
    const client = await dial(listener);
    client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await begun;
    await listener.close();
    await client.closed;
    expect(reason).toBe('cancelled');
  });

  test('close ends a drain that waits for a request, and both may be called again', async () => {
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const listener = await serve(() => {
      begin();
      return new Promise<HttpResponse>(() => {});
    });
    const client = await dial(listener);
    client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await begun;
    const drained = listener.drain();
    await listener.close();
    await drained;
    await listener.drain();
    await listener.close();
  });

  test('a port that is taken is an error of the start', async () => {
    const listener = await serve(hello);
    await expect(serveNodeHttp(hello, { port: listener.port })).rejects.toThrow(/EADDRINUSE/);
  });
});

describe('odd requests', () => {
  test('bytes that are not HTTP get a 400 and a closed connection', async () => {
    const client = await dial(await serve(hello));
    client.send('\u0000\u0001nonsense\r\n\r\n');
    expect(await client.closed).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('pipelined requests are answered in order', async () => {
    const client = await dial(await serve(({ path }) => ({ status: 200, headers: [], body: bytes(`<${path}>`) })));
    client.send('GET /1 HTTP/1.1\r\nhost: x\r\n\r\nGET /2 HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await client.until('</2>')).toMatch(/<\/1>[\s\S]*<\/2>/);
  });

  test('a pipelined request whose turn never came is cancelled and released with its connection', async () => {
    let release: () => void = () => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    let arrive: () => void = () => {};
    const areBothHere = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const reasons = new Map<string, string>();
    const client = await dial(
      await serve(({ path, signal }) => {
        signal.onCancel((reason) => reasons.set(path, reason));
        if (path === '/first') return new Promise<HttpResponse>(() => {});
        arrive();
        return { status: 200, headers: [], body: bytes('x'), release };
      }),
    );
    client.send('GET /first HTTP/1.1\r\nhost: x\r\n\r\nGET /second HTTP/1.1\r\nhost: x\r\n\r\n');
    await areBothHere;
    client.socket.destroy();
    await isReleased;
    await new Promise(setImmediate);
    expect(Object.fromEntries(reasons)).toEqual({ '/first': 'cancelled', '/second': 'cancelled' });
  });

  test('HTTP/1.0 is answered and its connection closed', async () => {
    const client = await dial(await serve(({ version }) => ({ status: 200, headers: [], body: bytes(version) })));
    client.send('GET / HTTP/1.0\r\n\r\n');
    expect(await client.closed).toMatch(/\r\n\r\n1\.0$/);
  });

  test('fields a handler must not send become a plain 500', async () => {
    const errors: unknown[] = [];
    const client = await dial(
      await serve(() => ({ status: 200, headers: [['x-bad', 'a\r\nb: c']] }), {
        onError: (error) => errors.push(error),
      }),
    );
    client.send('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await client.until('Internal Server Error')).toMatch(/^HTTP\/1\.1 500 /);
    expect(errors).toHaveLength(1);
  });

  test('a target in absolute form names its own authority', () => {
    expect(splitTarget('http://other:81/a?b')).toEqual({ path: '/a', query: 'b', authority: 'other:81' });
    expect(splitTarget('http://other')).toEqual({ path: '/', query: '', authority: 'other' });
    expect(splitTarget('*')).toEqual({ path: '*', query: '', authority: undefined });
    expect(splitTarget('/a??b')).toEqual({ path: '/a', query: '?b', authority: undefined });
  });
});
