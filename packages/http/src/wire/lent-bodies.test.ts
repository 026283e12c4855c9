/**
 * Bodies in memory that is used again, over real sockets: whatever arrives in whatever order, and whoever dies, every
 * answer is made of the bytes of its own request. Free memory is overwritten, so that a use after release shows.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import type { HttpHandler, HttpRequest, HttpResponse } from '../exchange.ts';
import { createRpcHandler } from '../rpc/handler.ts';
import { unary } from '../rpc/service.ts';
import { BodyPool } from './body-pool.ts';
import { wireHandlerFrom } from './seam-handler.ts';
import { type HttpServerOptions, type ListeningServer, serveHttp, serveWire } from './serve.ts';
import { ScriptedMemory } from './testing/scripted-memory.ts';

const bytesMax = 32 * 1024 * 1024;
const digestOf = (bytes: Uint8Array): string => createHash('sha1').update(bytes).digest('hex');

/** Bytes that tell a body, and a place in it, from every other. */
function bodyOf(size: number, seed: number): Buffer {
  const words = new Uint32Array(Math.ceil(size / 4));
  let state = Math.imul(seed + 1, 2654435761);
  for (let at = 0; at < words.length; at++) {
    state = Math.imul(state, 1664525) + 1013904223;
    words[at] = state;
  }
  return Buffer.from(words.buffer, 0, size);
}

/** Answers with the digest of the body, some turns after it has arrived. */
function digestHandler(turns: number, releasesEarly = false): HttpHandler {
  return ({ body }: HttpRequest) =>
    new Promise<HttpResponse>((resolve) => {
      body.lendAll(bytesMax, {
        onBody: async (bytes, release) => {
          if (releasesEarly) release();
          for (let turn = 0; turn < turns; turn++) await nextTurn();
          const digest = digestOf(bytes);
          if (!releasesEarly) release();
          resolve({ status: 200, headers: [], body: Buffer.from(digest) });
        },
        onBodyFailed: () => resolve({ status: 400, headers: [] }),
      });
    });
}

let server: ListeningServer | undefined;
const pool = new BodyPool({ isPoisoned: true });

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(handler: HttpHandler, options: HttpServerOptions = {}): Promise<ListeningServer> {
  server = await serveHttp(handler, { bodies: pool, ...options });
  return server;
}

async function post({ port }: ListeningServer, agent: Agent, body: Buffer, isChunked: boolean): Promise<string> {
  const headers = isChunked ? {} : { 'content-length': String(body.length) };
  const call = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: '/', agent, headers });
  // Cut, so that the pieces do not all have the size of a read.
  const cut = body.length % 997;
  call.write(body.subarray(0, cut));
  call.end(body.subarray(cut));
  const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream];
  let text = '';
  for await (const piece of response) text += String(piece);
  return text;
}

const sizes = [0, 10, 5_000, 17_000, 60_000, 65_536, 70_000, 130_000, 602_112, 1_048_577, 3_000_000];

test('bodies over HTTP/1.1 are whole, whatever their sizes and whoever shares the memory', async () => {
  const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
  const at = await start(digestHandler(3), { memory });
  const agent = new Agent({ keepAlive: true, maxSockets: 6 });
  const bodies = Array.from({ length: 66 }, (_, index) => bodyOf(sizes[index % sizes.length] as number, index));
  const answers = await Promise.all(bodies.map((body, index) => post(at, agent, body, index % 5 === 0)));
  expect(answers).toEqual(bodies.map(digestOf));
  agent.destroy();
  expect(pool.lentBytes).toBe(0);
  expect(pool.freeBytes).toBeGreaterThan(0);
  await at.close();
  expect(memory.usedBytes).toBe(0);
});

test('bodies over HTTP/2 are whole, however their frames are mixed', async () => {
  const at = await start(digestHandler(2));
  const client = connectHttp2(`http://127.0.0.1:${at.port}`, { maxSessionMemory: 1000 });
  const call = async (body: Buffer): Promise<string> => {
    const stream = client.request({ ':method': 'POST', ':path': '/' });
    stream.end(body);
    let text = '';
    for await (const piece of stream) text += String(piece);
    return text;
  };
  const bodies = Array.from({ length: 44 }, (_, index) => bodyOf(sizes[index % sizes.length] as number, 1000 + index));
  expect(await Promise.all(bodies.map(call))).toEqual(bodies.map(digestOf));
  client.close();
  expect(pool.lentBytes).toBe(0);
});

test('pipelined requests are cut where they end, also when they arrive in the memory of a body', async () => {
  const at = await start(digestHandler(1));
  const bodies = [602_112, 20, 70_000, 300_000, 0, 66_000].map((size, index) => bodyOf(size, 50 + index));
  const requests = bodies.map((body) =>
    Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`), body]),
  );
  const socket = connect(at.port, '127.0.0.1');
  socket.write(Buffer.concat(requests));
  let text = '';
  for await (const piece of socket) {
    text += String(piece);
    if ((text.match(/[0-9a-f]{40}/g) ?? []).length === bodies.length) break;
  }
  expect(text.match(/[0-9a-f]{40}/g)).toEqual(bodies.map(digestOf));
  expect(pool.lentBytes).toBe(0);
});

test('clients that die within a body leave no memory lent, and disturb nobody', async () => {
  const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
  const at = await start(digestHandler(2), { memory });
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const random = fc.sample(fc.tuple(fc.nat(700_000), fc.boolean()), { numRuns: 40, seed: 7 });
  const dying = random.map(async ([sent, isReset]) => {
    const socket = connect(at.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 700001\r\n\r\n');
    await new Promise<void>((resolve) => socket.write(Buffer.alloc(sent, 9), () => resolve()));
    if (isReset) socket.resetAndDestroy();
    else socket.destroy();
  });
  const bodies = Array.from({ length: 60 }, (_, index) => bodyOf(sizes[index % sizes.length] as number, 2000 + index));
  const answers = await Promise.all(bodies.map((body) => post(at, agent, body, false)));
  expect(answers).toEqual(bodies.map(digestOf));
  await Promise.all(dying);
  agent.destroy();
  await at.close();
  expect([pool.lentBytes, memory.usedBytes]).toEqual([0, 0]);
});

test('a body that fails while its socket reads into its memory keeps that memory until the socket lets go of it', async () => {
  const handler: HttpHandler = ({ body }) =>
    new Promise((resolve) => {
      body.lendAll(bytesMax, {
        onBody: (_, release) => {
          release();
          resolve({ status: 200, headers: [] });
        },
        onBodyFailed: () => resolve({ status: 503, headers: [] }),
      });
    });
  // Enough for one body in lent memory, and refused beyond that.
  const memory = new ScriptedMemory(1_000_000, 0);
  const at = await start(handler, { memory });
  const socket = connect(at.port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 700000\r\n\r\n');
  socket.write(Buffer.alloc(200_000, 1));
  while (pool.lentBytes < 700_000) await nextTurn();
  const second = connect(at.port, '127.0.0.1');
  second.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 700000\r\n\r\n');
  second.write(Buffer.alloc(300_000, 2));
  const [answer] = (await once(second, 'data')) as [Buffer];
  expect(answer.toString()).toContain(' 503 ');
  socket.write(Buffer.alloc(500_000, 1));
  const [whole] = (await once(socket, 'data')) as [Buffer];
  expect(whole.toString()).toContain(' 200 ');
  socket.destroy();
  second.destroy();
  await at.close();
});

test('the message of a call is whole until its handler releases it, also after the deadline of the call', async () => {
  const seen: string[] = [];
  const method = unary<Uint8Array, string>({
    name: 'Digest',
    isRequestLent: true,
    request: { fromProto: (bytes) => bytes },
    response: { toProto: (text) => Buffer.from(text) },
    handle: (message, call) => {
      const finish = async (): Promise<void> => {
        for (let turn = 0; turn < 5; turn++) await nextTurn();
        const digest = digestOf(message);
        seen.push(digest);
        call.releaseRequest();
        call.answer(digest);
      };
      void finish();
      return undefined;
    },
  });
  const handler = createRpcHandler([{ name: 'test.Digests', methods: [method] }], {
    errorFrom: (error) => error as never,
    onRefused: () => {},
    onError: () => {},
    next: wireHandlerFrom(
      () => ({ status: 404, headers: [] }),
      () => {},
    ),
  });
  server = await serveWire(handler, { bodies: pool });
  const client = connectHttp2(`http://127.0.0.1:${server.port}`, { maxSessionMemory: 1000 });
  const call = (body: Buffer, fields: Record<string, string> = {}): Promise<void> => {
    const stream = client.request({
      ':method': 'POST',
      ':path': '/test.Digests/Digest',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...fields,
    });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(body.length, 1);
    stream.end(Buffer.concat([prefix, body]));
    stream.resume();
    return once(stream, 'close').then(() => {});
  };
  const bodies = Array.from({ length: 40 }, (_, index) => bodyOf(sizes[index % sizes.length] as number, 3000 + index));
  // Every third has a deadline that passes before its handler is finished.
  await Promise.all(bodies.map((body, index) => call(body, index % 3 === 0 ? { 'grpc-timeout': '1n' } : {})));
  while (pool.lentBytes > 0) await nextTurn();
  const digests = new Set(bodies.map(digestOf));
  expect(seen.filter((digest) => !digests.has(digest))).toEqual([]);
  expect(seen.length).toBeGreaterThan(20);
  client.close();
});

test('a body over HTTP/1.1 is read straight into its memory, but for what came with its head', async () => {
  const lengths: number[] = [];
  const at = await start(({ body }) => {
    return new Promise((resolve) => {
      body.lendAll(bytesMax, {
        onBody: (bytes, release) => {
          lengths.push(bytes.length);
          release();
          resolve({ status: 200, headers: [], body: Buffer.from('done') });
        },
        onBodyFailed: () => resolve({ status: 400, headers: [] }),
      });
    });
  });
  const socket = connect(at.port, '127.0.0.1');
  const body = bodyOf(602_112, 4);
  const send = async (): Promise<void> => {
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 602112\r\n\r\n');
    socket.write(body);
    await once(socket, 'data');
  };
  await send();
  const set = vi.spyOn(Uint8Array.prototype, 'set');
  const copy = vi.spyOn(Buffer.prototype, 'copy');
  for (let count = 0; count < 5; count++) await send();
  const copied = set.mock.calls.reduce((sum, [source]) => sum + source.length, 0);
  expect(copy.mock.calls.length).toBe(0);
  set.mockRestore();
  copy.mockRestore();
  expect(lengths).toEqual(Array(6).fill(602_112));
  // What came with the head, and what is left where it is less than a read is worth; some of it twice.
  expect(copied).toBeLessThan(5 * 2 * 65_536);
  socket.destroy();
});

test('a handler that releases a body before it has read it is found', async () => {
  const at = await start(digestHandler(1, true));
  const agent = new Agent();
  const body = bodyOf(602_112, 1);
  expect(await post(at, agent, body, false)).not.toBe(digestOf(body));
  agent.destroy();
});

/** Memory of somebody else for bodies, which is overwritten when it is released. */
function placing() {
  const counts = { lent: 0, placed: 0, whole: 0 };
  const handler: HttpHandler = ({ body }) =>
    new Promise<HttpResponse>((resolve) => {
      const lend = (bytes: number) => {
        const memory = Buffer.alloc(bytes, 0xee);
        counts.lent++;
        const release = (): void => {
          memory.fill(0xdb);
          counts.lent--;
        };
        return { bytes: memory, release };
      };
      const receiver = {
        onBody: async (head: Uint8Array, release: () => void, tail?: Uint8Array) => {
          if (tail === undefined) counts.whole++;
          else counts.placed++;
          await nextTurn();
          const digest = digestOf(tail === undefined ? head : Buffer.concat([head, tail]));
          release();
          resolve({ status: 200, headers: [], body: Buffer.from(digest) });
        },
        onBodyFailed: () => resolve({ status: 400, headers: [] }),
      };
      body.lendAll(bytesMax, receiver, { headBytes: 100, lend });
    });
  return { handler, counts };
}

test('placed bodies are whole, over HTTP/1.1 and HTTP/2, and their memory is released', async () => {
  const { handler, counts } = placing();
  const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
  const at = await start(handler, { memory });
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const bodies = Array.from({ length: 40 }, (_, index) => bodyOf(65_000 + 61_007 * (index % 13), 3000 + index));
  expect(await Promise.all(bodies.map((body) => post(at, agent, body, false)))).toEqual(bodies.map(digestOf));
  agent.destroy();
  const client = connectHttp2(`http://127.0.0.1:${at.port}`, { maxSessionMemory: 1000 });
  const call = async (body: Buffer): Promise<string> => {
    const stream = client.request({ ':method': 'POST', ':path': '/', 'content-length': String(body.length) });
    stream.end(body);
    let text = '';
    for await (const piece of stream) text += String(piece);
    return text;
  };
  expect(await Promise.all(bodies.map(call))).toEqual(bodies.map(digestOf));
  client.close();
  expect(counts.placed).toBeGreaterThan(60);
  expect(counts.lent).toBe(0);
  expect([pool.lentBytes, pool.placedBytes]).toEqual([0, 0]);
  await at.close();
  expect(memory.usedBytes).toBe(0);
});

test('a placed body that takes too long is moved away, also from under the socket that reads into it', async () => {
  const sweeps: (() => void)[] = [];
  const bodies = new BodyPool({ isPoisoned: true, after: (_ms, callback) => sweeps.push(callback) });
  const { handler, counts } = placing();
  const at = await start(handler, { bodies });
  const body = bodyOf(600_000, 77);
  const socket = connect(at.port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`);
  socket.write(body.subarray(0, 250_000));
  await vi.waitUntil(() => counts.lent === 1);
  // Twice: a body is given one interval at least.
  sweeps.shift()?.();
  expect(counts.lent).toBe(1);
  sweeps.shift()?.();
  expect([counts.lent, bodies.placedBytes]).toEqual([0, 0]);
  expect(bodies.lentBytes).toBeGreaterThan(0);
  socket.write(body.subarray(250_000));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toContain(digestOf(body));
  expect([counts.whole, counts.placed]).toEqual([1, 0]);
  socket.destroy();
});
