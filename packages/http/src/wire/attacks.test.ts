import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { errorCode, frameType, readUint32BigEndian } from '@millrace/http2';
import { framesFrom, getFields, headers, hello, reset, settings, windowUpdate } from '@millrace/http2/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { HttpHandler, HttpServer } from '../exchange.ts';
import { floods, repeatedFrames, streamAt } from '../http2/testing/floods.ts';
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
  return { code: readUint32BigEndian(goaway.payload, 4), reason: goaway.payload.toString('latin1', 8) };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that are held, not those that wait to be collected: when the collector runs depends on the machine. */
function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('a flood is cut off, costs little and does not affect other clients', () => {
  for (const { name, reason, next } of floods) {
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

test('requests that are cancelled at once do not pile up in the application', async () => {
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
    repeatedFrames(50, (at) => {
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
  attack.socket.write(repeatedFrames(100, (at) => headers(at * 2 + 1, getFields, true)));
  expect(await bystander(target)).toBe(200);
  while (released < 100) await new Promise(setImmediate);
  expect(memoryInUse() - before).toBeLessThan(memoryBytesMax);
});

test('a window opened byte by byte earns no endless stream of frames (CVE-2019-9511)', async () => {
  const target = await serve(() => ({ status: 200, headers: [], body: Buffer.alloc(1 << 20) }));
  const attack = await dial(target);
  attack.socket.write(Buffer.concat([hello, settings([4, 0]), headers(1, getFields, true)]));
  await flood(attack, () => repeatedFrames(200, () => windowUpdate(1, 1)));
  expect(lastWord(await attack.closed)).toEqual({
    code: errorCode.enhanceYourCalm,
    reason: 'too_many_control_frames',
  });
  expect(await bystander(target)).toBe(200);
});

test('more connections than connectionsMax are closed at once where none is idle for long, and the others live on', async () => {
  const target = await serve(quick, { connectionsMax: 10, evictionIdleMsMin: Number.POSITIVE_INFINITY });
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
  const target = await serve(quick, { connectionsPerAddressMax: 2, evictionIdleMsMin: Number.POSITIVE_INFINITY });
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
