import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpHandler, HttpServer } from '../exchange.ts';
import { errorCode, frameFlag, frameType, readUint32 } from '../http2/frames.ts';
import {
  data,
  frame,
  framesFrom,
  getFields,
  headers,
  hello,
  literalBlock,
  ping,
  postFields,
  reset,
  settings,
  windowUpdate,
} from '../http2/testing/frame-tools.ts';
import { type HttpServerOptions, serveHttp } from './serve.ts';

/** What an attack may make the process hold beyond what it held before. */
const memoryBytesMax = 48 * 1024 * 1024;
/** An attacker gives up after this much: the limits must have stopped it long before. */
const attackBytesMax = 64 * 1024 * 1024;

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

async function serve(handler: HttpHandler, options: HttpServerOptions = {}): Promise<HttpServer> {
  server = await serveHttp(handler, { onError: () => {}, ...options });
  return server;
}

const hold = () => new Promise<never>(() => {});
const quick: HttpHandler = () => ({ status: 200, headers: [], body: Buffer.from('ok') });

/** Another client, which must be served while the attack goes on. */
function bystander(to: HttpServer, path = '/bystander'): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`http://${to.host}:${to.port}`);
    session.on('error', reject);
    session.on('close', () => reject(new Error('the connection was closed')));
    const stream = session.request({ ':path': path });
    stream.on('error', reject);
    stream.on('response', (fields) => {
      resolve(Number(fields[':status']));
      session.destroy();
    });
    stream.resume();
  });
}

interface Attack {
  readonly socket: Socket;
  /** Everything the server said, once it has closed the connection. */
  readonly closed: Promise<Buffer>;
}

async function dial(to: HttpServer): Promise<Attack> {
  const socket = connect(to.port, to.host);
  sockets.push(socket);
  const heard: Buffer[] = [];
  socket.on('data', (piece: Buffer) => heard.push(piece));
  socket.on('error', () => {});
  const closed = new Promise<Buffer>((resolve) => {
    socket.once('end', () => resolve(Buffer.concat(heard)));
    socket.once('close', () => resolve(Buffer.concat(heard)));
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, closed };
}

/** Writes what `next` makes until the server hangs up; returns how much it took. */
async function flood(attack: Attack, next: (round: number) => Buffer): Promise<number> {
  let isOver = false;
  void attack.closed.then(() => {
    isOver = true;
  });
  let sent = 0;
  for (let round = 0; !isOver && sent < attackBytesMax; round++) {
    const bytes = next(round);
    sent += bytes.length;
    const hasRoom = attack.socket.write(bytes);
    if (!hasRoom || round % 8 === 0) await new Promise(setImmediate);
  }
  return sent;
}

function lastWord(heard: Buffer): { code: number; reason: string } {
  const goaway = framesFrom(heard).findLast((one) => one.type === frameType.goaway);
  if (goaway === undefined) return { code: -1, reason: 'no GOAWAY' };
  return { code: readUint32(goaway.payload, 4), reason: goaway.payload.toString('latin1', 8) };
}

const memoryInUse = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
const repeat = (count: number, make: (at: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, at) => make(at)));
const streamAt = (round: number, at: number, perRound: number) => (round * perRound + at) * 2 + 1;

/** Each attack as what it sends round after round, and the reason it is cut off for. */
const floods: readonly (readonly [name: string, reason: string, next: (round: number) => Buffer])[] = [
  [
    'rapid reset (CVE-2023-44487)',
    'too_many_resets',
    (round) =>
      repeat(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), reset(id)]);
      }),
  ],
  [
    'streams made to be reset by a zero window increment (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeat(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), windowUpdate(id, 0)]);
      }),
  ],
  [
    'streams made to be reset by a window overflow (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeat(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), windowUpdate(id, 0x7fffffff)]);
      }),
  ],
  [
    'streams made to be reset by DATA after their end (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeat(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), data(id, 'x', false)]);
      }),
  ],
  [
    'streams made to be reset by HEADERS after their end (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeat(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), headers(id, [], true)]);
      }),
  ],
  [
    'streams made to be reset by a PRIORITY of wrong size (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeat(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), frame(frameType.priority, 0, id, Buffer.alloc(4))]);
      }),
  ],
  [
    'malformed requests, each reset (CVE-2019-9514)',
    'too_many_resets',
    (round) => repeat(50, (at) => headers(streamAt(round, at, 50), [[':method', 'GET']], true)),
  ],
  [
    'CONTINUATION flood (CVE-2024-27316)',
    'header block too large',
    (round) =>
      round === 0
        ? frame(frameType.headers, 0, 1, literalBlock(getFields))
        : frame(frameType.continuation, 0, 1, literalBlock([['x-flood', 'f'.repeat(1000)]])),
  ],
  [
    'CONTINUATION flood of empty frames',
    'header block too large',
    (round) =>
      round === 0
        ? frame(frameType.headers, 0, 1, literalBlock(getFields))
        : repeat(100, () => frame(frameType.continuation, 0, 1)),
  ],
  [
    'HPACK bomb',
    'header list too large',
    () => frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, 1, bomb()),
  ],
  ['SETTINGS flood (CVE-2019-9515)', 'too_many_control_frames', () => repeat(500, () => settings())],
  ['PING flood (CVE-2019-9512)', 'too_many_pings', () => repeat(500, () => ping())],
  [
    'PRIORITY flood (CVE-2019-9513)',
    'too_many_control_frames',
    () => repeat(500, (at) => frame(frameType.priority, 0, at * 2 + 1, Buffer.of(0, 0, 0, 0, 1))),
  ],
  [
    'empty DATA flood (CVE-2019-9518)',
    'too_many_control_frames',
    (round) =>
      Buffer.concat([
        round === 0 ? headers(1, postFields, false) : Buffer.alloc(0),
        repeat(500, () => data(1, '', false)),
      ]),
  ],
  [
    'padding flood on a stream that was reset',
    'too_many_control_frames',
    (round) =>
      Buffer.concat([
        round === 0 ? Buffer.concat([headers(1, postFields, false), windowUpdate(1, 0)]) : Buffer.alloc(0),
        repeat(500, () => frame(frameType.data, frameFlag.padded, 1, Buffer.of(0))),
      ]),
  ],
  ['window update flood', 'too_many_control_frames', () => repeat(500, () => windowUpdate(0, 1))],
  ['unknown frame flood', 'too_many_control_frames', () => repeat(500, () => frame(77, 0, 0, Buffer.alloc(4)))],
  [
    'reset flood on closed streams',
    'too_many_control_frames',
    (round) =>
      Buffer.concat([round === 0 ? headers(1, getFields, true) : Buffer.alloc(0), repeat(500, () => reset(1))]),
  ],
];

/** One field of nearly a whole table, then a reference to it for every byte of the block. */
function bomb(): Buffer {
  const value = 'b'.repeat(4000);
  const length = 4000 - 127;
  const field = Buffer.concat([
    Buffer.of(0x40, 1, 0x61, 0x7f, (length & 127) | 128, length >> 7),
    Buffer.from(value, 'latin1'),
  ]);
  return Buffer.concat([literalBlock(getFields), field, Buffer.alloc(8000, 0xbe)]);
}

describe('a flood is cut off, costs little and harms nobody else', () => {
  for (const [name, reason, next] of floods) {
    test(name, async () => {
      const target = await serve(({ path }) => (path === '/bystander' ? { status: 200, headers: [] } : hold()));
      const attack = await dial(target);
      const before = memoryInUse();
      attack.socket.write(hello);
      const [sent, status] = await Promise.all([flood(attack, next), bystander(target)]);
      expect(lastWord(await attack.closed)).toEqual({ code: errorCode.enhanceYourCalm, reason });
      expect(sent).toBeLessThan(attackBytesMax);
      expect(status).toBe(200);
      expect(memoryInUse() - before).toBeLessThan(memoryBytesMax);
      expect(await bystander(target)).toBe(200);
    });
  }
});

test('requests given up at once do not pile up in the application', async () => {
  let running = 0;
  let mostRunning = 0;
  const target = await serve(
    ({ path }) => {
      if (path === '/bystander') return { status: 200, headers: [] };
      running++;
      mostRunning = Math.max(mostRunning, running);
      return hold();
    },
    { streamsMax: 20, resetsBurstMax: 1000 },
  );
  const attack = await dial(target);
  attack.socket.write(hello);
  await flood(attack, (round) =>
    repeat(50, (at) => {
      const id = streamAt(round, at, 50);
      return Buffer.concat([headers(id, getFields, true), reset(id)]);
    }),
  );
  expect(lastWord(await attack.closed).reason).toBe('too_many_resets');
  expect(mostRunning).toBe(20);
  expect(await bystander(target)).toBe(200);
});

test('a client that opens its window but takes nothing holds little memory and is cut off (CVE-2019-9517)', async () => {
  const body = Buffer.alloc(1 << 20, 'b');
  let released = 0;
  const target = await serve(() => ({ status: 200, headers: [], body, release: () => released++ }), {
    responseStallMsMax: 300,
  });
  const attack = await dial(target);
  attack.socket.pause();
  const before = memoryInUse();
  attack.socket.write(Buffer.concat([hello, settings([4, 0x7fffffff]), windowUpdate(0, 0x7fff0000)]));
  attack.socket.write(repeat(100, (at) => headers(at * 2 + 1, getFields, true)));
  expect(await bystander(target)).toBe(200);
  while (released < 100) await new Promise(setImmediate);
  expect(memoryInUse() - before).toBeLessThan(memoryBytesMax);
});

test('a window opened byte by byte earns no endless stream of frames (CVE-2019-9511)', async () => {
  const target = await serve(() => ({ status: 200, headers: [], body: Buffer.alloc(1 << 20) }));
  const attack = await dial(target);
  attack.socket.write(Buffer.concat([hello, settings([4, 0]), headers(1, getFields, true)]));
  await flood(attack, () => repeat(200, () => windowUpdate(1, 1)));
  expect(lastWord(await attack.closed)).toEqual({
    code: errorCode.enhanceYourCalm,
    reason: 'too_many_control_frames',
  });
  expect(await bystander(target)).toBe(200);
});

test('more connections than connectionsMax are closed at once, and the others live on', async () => {
  const target = await serve(quick, { connectionsMax: 10 });
  const session = connectHttp2(`http://${target.host}:${target.port}`);
  const answered = () =>
    new Promise<number>((resolve) => {
      const stream = session.request({ ':path': '/' });
      stream.on('response', (fields) => resolve(Number(fields[':status'])));
      stream.resume();
    });
  expect(await answered()).toBe(200);
  const crowd = await Promise.all(Array.from({ length: 50 }, () => dial(target)));
  let refused = 0;
  for (const { closed } of crowd) void closed.then(() => refused++);
  while (refused < 41) await new Promise(setImmediate);
  expect(crowd.filter(({ socket }) => socket.readyState === 'open')).toHaveLength(9);
  expect(await answered()).toBe(200);
  session.destroy();
});

test('one address gets no more than connectionsPerAddressMax connections', async () => {
  const target = await serve(quick, { connectionsPerAddressMax: 2 });
  const first = await dial(target);
  const second = await dial(target);
  expect(await (await dial(target)).closed).toEqual(Buffer.alloc(0));
  expect([first.socket.readyState, second.socket.readyState]).toEqual(['open', 'open']);
  first.socket.destroy();
  await first.closed;
  for (;;) {
    const status = await bystander(target).catch(() => undefined);
    if (status === 200) break;
  }
});
