/** What one turn of the event loop does where many connections ask for it at once, counted over real sockets. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import type { HttpServer } from '../exchange.ts';
import { testAuthority } from '../testing/certificates.ts';
import { resolveHttpLimits } from './config.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { endsPerTurn } from './direct-read.ts';
import { ownerInputMsPerTurn } from './input-turns.ts';
import { type HttpServerOptions, serveWire } from './serve.ts';
import type { WireHandler } from './wire-exchange.ts';

const certificate = testAuthority('localhost');
const flood = '127.0.0.2';
const honest = '127.0.0.3';
const request = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

/** Counts events in each turn of the event loop. */
class TurnCounter {
  mostInTurn = 0;
  all = 0;
  #inTurn = 0;

  add(count = 1): void {
    if (this.#inTurn === 0) setImmediate(() => (this.#inTurn = 0));
    this.all += count;
    this.#inTurn += count;
    this.mostInTurn = Math.max(this.mostInTurn, this.#inTurn);
  }
}

async function serve(handler: WireHandler, options: HttpServerOptions = {}): Promise<HttpServer> {
  server = await serveWire(handler, options);
  return server;
}

const quick: WireHandler = (exchange) => exchange.answer(204, [], undefined, undefined, undefined);

function dial(localAddress: string, isEncrypted = false): Socket {
  const options = { port: server?.port ?? 0, host: '127.0.0.1', localAddress };
  const socket = isEncrypted ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
  sockets.push(socket);
  socket.on('error', () => {});
  return socket;
}

const dialled = (count: number, isEncrypted = false): Promise<readonly Socket[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const socket = dial(flood, isEncrypted);
      await once(socket, isEncrypted ? 'secureConnect' : 'connect');
      return socket;
    }),
  );

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

async function honestRequest(): Promise<void> {
  const socket = dial(honest);
  socket.write(request);
  await once(socket, 'data');
}

test('without further handles one connection is accepted in a turn, however many wait', async () => {
  const limiter = new ConnectionLimiter(resolveHttpLimits({}));
  const admit = limiter.admit.bind(limiter);
  const accepted = new TurnCounter();
  limiter.admit = (socket, entrance) => {
    accepted.add();
    return admit(socket, entrance);
  };
  await serve(quick, { limiter });
  for (let count = 0; count < 200; count++) dial(flood);
  await until(() => accepted.all === 200);
  // libuv accepts no more since 1.45, which is why there are further handles (`acceptors.ts`).
  expect(accepted.mostInTurn).toBe(1);
});

test.each([
  ['plain', false],
  ['TLS', true],
])('beside others an owner whose %s connections send at once has its time in each turn', async (_name, isEncrypted) => {
  const handled = new TurnCounter();
  const handler: WireHandler = (exchange) => {
    if (exchange.peer.address === flood) {
      handled.add();
      for (const beganAt = performance.now(); performance.now() - beganAt < ownerInputMsPerTurn / 2; );
    }
    quick(exchange);
  };
  await serve(handler, isEncrypted ? { tls: certificate } : {});
  const clients = await dialled(40, isEncrypted);
  let answers = 0;
  for (const client of clients) client.on('data', () => answers++);
  if (isEncrypted) {
    const socket = dial(honest, true);
    socket.write(request);
    await once(socket, 'data');
  } else await honestRequest();
  for (const client of clients) client.write(request);
  await until(() => answers === 40);
  expect(handled.all).toBe(40);
  // Three of its requests take more than its time; those of the turn before may end in this one.
  expect(handled.mostInTurn).toBeLessThanOrEqual(6);
});

test('what was set aside of a connection that closes is dropped, and a server with such connections closes', async () => {
  let handled = 0;
  const handler: WireHandler = (exchange) => {
    handled++;
    for (const beganAt = performance.now(); performance.now() - beganAt < ownerInputMsPerTurn; );
    quick(exchange);
    if (handled === 4) void server?.close();
  };
  await serve(handler);
  const clients = await dialled(40);
  await honestRequest();
  const closed = clients.map((client) => once(client, 'close'));
  for (const client of clients) client.resume().write(request);
  await Promise.all(closed);
  expect(handled).toBeLessThan(20);
});

test('connections that end at once are closed over several turns', async () => {
  const limiter = new ConnectionLimiter(resolveHttpLimits({}));
  await serve(quick, { limiter });
  const count = 5 * endsPerTurn;
  const clients = await dialled(count);
  await until(() => limiter.connections === count);
  for (const client of clients) client.resetAndDestroy();
  const left = [count];
  await until(() => left.unshift(limiter.connections) > 0 && limiter.connections === 0);
  const closedInTurn = left.slice(1).map((before, at) => before - (left[at] as number));
  // At the end of the first turn come those that waited in it.
  expect(Math.max(...closedInTurn)).toBeLessThanOrEqual(2 * endsPerTurn);
});
