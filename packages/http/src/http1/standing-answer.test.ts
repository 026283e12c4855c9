/** Answers without a handler are invisible, except that the handler is not called. */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { HttpHandler, HttpResponse, StandingResponse } from '../exchange.ts';
import { wireHandlerFrom } from '../wire/seam-handler.ts';
import { MemoryHost } from '../wire/testing/memory-host.ts';
import { MemoryTransport } from '../wire/testing/memory-transport.ts';
import { Http1Connection } from './connection.ts';
import { repeatedHeadBytesMax } from './repeated-head.ts';
import { converseHttp1, get, post, receiveShared } from './testing/conversation.ts';

function standing(statusNow: () => number): () => StandingResponse {
  const known = new Map<number, StandingResponse>();
  const again = (): StandingResponse => {
    const status = statusNow();
    const response = known.get(status) ?? { status, headers: [['x-status', String(status)]], again };
    known.set(status, response);
    return response;
  };
  return again;
}

function served(handler: HttpHandler) {
  const asked = vi.fn(handler);
  const onError = vi.fn();
  return { asked, onError, ...converseHttp1(wireHandlerFrom(asked, onError)) };
}

const head = (status: number, text: string): string =>
  `HTTP/1.1 ${status} ${text}\r\nx-status: ${status}\r\ncontent-length: 0\r\n\r\n`;

test('a repeated request is answered without the handler, by what is true then', () => {
  let status = 200;
  const { asked, connection, receive, said } = served(standing(() => status));
  receive(get('/ready'));
  receive(get('/ready'));
  receiveShared(connection, get('/ready'));
  expect(said()).toBe(head(200, 'OK').repeat(3));
  status = 400;
  receiveShared(connection, get('/ready'));
  receive(get('/ready'));
  expect(said()).toBe(head(400, 'Bad Request').repeat(2));
  expect(asked).toHaveBeenCalledTimes(1);
});

test('every answer has the date of its time', () => {
  const { connection, host, receive, transport } = served(standing(() => 200));
  const dates = ['one', 'two', 'two', 'three'];
  host.dateNow = () => dates.shift() as string;
  receive(get('/ready'));
  for (let time = 0; time < 3; time++) receiveShared(connection, get('/ready'));
  expect(
    [
      ...transport
        .take()
        .toString()
        .matchAll(/date: (\w+)/g),
    ].map(([, date]) => date),
  ).toEqual([...['one', 'two', 'two', 'three']]);
});

test.each([
  ['another path', get('/live')],
  ['another field', get('/ready', 'X-Request: 2\r\n')],
  ['the method HEAD', 'HEAD /ready HTTP/1.1\r\nHost: x\r\n\r\n'],
])('%s is not the request that was answered', (_, other) => {
  const { asked, connection, receive, said } = served(standing(() => 200));
  receive(get('/ready'));
  receiveShared(connection, other);
  receiveShared(connection, get('/ready'));
  expect(asked).toHaveBeenCalledTimes(3);
  expect(said()).toBe(head(200, 'OK').repeat(3));
});

test.each([
  ['has a body', post('Content-Length: 3\r\n').replace('POST', 'GET'), 'abc'],
  ['has a chunked body', post('Transfer-Encoding: chunked\r\n').replace('POST', 'GET'), '0\r\n\r\n'],
  ['is not a GET', post('Content-Length: 0\r\n'), ''],
  ['has a head too long to be kept', get('/ready', `X-F: ${'f'.repeat(repeatedHeadBytesMax)}\r\n`), ''],
])('a request that %s always goes to the handler', (_, request, body) => {
  const { asked, connection, said } = served(standing(() => 200));
  for (let time = 0; time < 3; time++) receiveShared(connection, request + body);
  expect(asked).toHaveBeenCalledTimes(3);
  expect(said()).toBe(head(200, 'OK').repeat(3));
});

test('a client that closes after its request is told so, and the connection ends', () => {
  const { asked, connection, said, transport } = served(standing(() => 200));
  receiveShared(connection, get('/ready', 'Connection: close\r\n').repeat(2));
  expect(asked).toHaveBeenCalledTimes(1);
  expect(said()).toContain('connection: close');
  expect(transport.isEnded).toBe(true);
});

test('a draining connection closes after the next request', () => {
  const { connection, receive, said, transport } = served(standing(() => 200));
  receive(get('/ready'));
  said();
  connection.drain();
  receiveShared(connection, get('/ready'));
  expect(said()).toContain('connection: close');
  expect(transport.isEnded).toBe(true);
});

const own = standing(() => 200);
test.each<[string, HttpHandler]>([
  ['a response that a wrapper changed', () => ({ ...own(), headers: [['x-own', 'field']] })],
  ['a promise of a response', async () => own()],
])('%s is not repeated', async (_, handler) => {
  const { asked, connection, receive } = served(handler);
  receive(get('/ready'));
  await new Promise(setImmediate);
  receiveShared(connection, get('/ready'));
  await new Promise(setImmediate);
  expect(asked).toHaveBeenCalledTimes(2);
});

test('an answer without a length is left to the handler', () => {
  let status = 200;
  const { asked, connection, receive, said } = served(standing(() => status));
  receive(get('/ready'));
  said();
  status = 204;
  receiveShared(connection, get('/ready'));
  expect(said()).toBe('HTTP/1.1 204 No Content\r\nx-status: 204\r\n\r\n');
  expect(asked).toHaveBeenCalledTimes(2);
});

test('an answer that fails is left to the handler, which reports it', () => {
  const statusNow = vi.fn(() => 200);
  const again = standing(statusNow);
  const { asked, connection, onError, receive, said } = served(() => again());
  receive(get('/ready'));
  said();
  statusNow.mockImplementation(() => {
    throw new Error('broken');
  });
  receiveShared(connection, get('/ready'));
  expect(said()).toContain('HTTP/1.1 500');
  expect(asked).toHaveBeenCalledTimes(2);
  expect(onError).toHaveBeenCalledTimes(1);
});

test('pipelined requests are answered in one write, and no more of them in a turn than others', async () => {
  const { asked, connection, host, receive, said, transport } = served(standing(() => 200));
  host.requestsPerTurn = 4;
  receive(get('/ready'));
  said();
  const write = vi.spyOn(transport, 'write');
  receiveShared(connection, get('/ready').repeat(10));
  expect(write).toHaveBeenCalledTimes(1);
  expect(said()).toBe(head(200, 'OK').repeat(4));
  for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate);
  expect(said()).toBe(head(200, 'OK').repeat(6));
  // The first, and the last of each full turn.
  expect(asked.mock.calls.length).toBeLessThan(6);
});

test('a client that does not read its answers gets no more of them', () => {
  const { connection, receive, transport, host } = served(standing(() => 200));
  receive(get('/ready'));
  transport.isStuck = true;
  for (let time = 0; time < 5000; time++) receiveShared(connection, get('/ready'));
  host.settle();
  expect(transport.pendingBytes).toBeLessThan(host.limits.outputBytesMax + 1024);
});

/** Keeps what it was given until the kernel takes it, as libuv does. */
class SlowTransport extends MemoryTransport {
  readonly given: Uint8Array[] = [];
  override write(pieces: readonly Uint8Array[]): void {
    this.given.push(...pieces);
    for (const { length } of pieces) this.pendingBytes += length;
  }
}

test('bytes that the kernel has not taken are never written over', () => {
  let status = 200;
  const transport = new SlowTransport();
  const host = new MemoryHost(
    wireHandlerFrom(
      standing(() => status),
      () => {},
    ),
  );
  const connection = new Http1Connection(host, transport);
  connection.receive(Buffer.from(get('/ready')));
  transport.pendingBytes = 0;
  receiveShared(connection, get('/ready'));
  status = 400;
  transport.pendingBytes = 0;
  receiveShared(connection, get('/ready'));
  host.settle();
  const texts = transport.given.map((piece) => Buffer.from(piece).toString('latin1', 9, 12));
  expect(texts).toEqual(['200', '200', '400']);
});

test('half a request is not answered, whatever came before it', () => {
  const { connection, said } = served(standing(() => 200));
  const request = get('/ready');
  receiveShared(connection, request);
  receiveShared(connection, request + request.slice(0, 20));
  expect(said()).toBe(head(200, 'OK').repeat(2));
  expect(connection.isInHead).toBe(true);
  receiveShared(connection, request.slice(20));
  expect(said()).toBe(head(200, 'OK'));
});

const requests = [
  get('/a'),
  get('/b'),
  get('/a', 'Connection: close\r\n'),
  'HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
  `${post('Content-Length: 27\r\n')}${get('/a').slice(0, 27)}`,
  `${post('Transfer-Encoding: chunked\r\n')}1b\r\n${get('/a').slice(0, 27)}\r\n0\r\n\r\n`,
  `\r\n${get('/a')}`,
  `\r\n\r\n${get('/a')}`,
  'GET /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nGET',
  'GET /a\r\n\r\n',
];

function conversation(isStanding: boolean, wire: string, cuts: readonly number[]) {
  let seen = 0;
  const answer = standing(() => 200);
  const handler: HttpHandler = ({ path }): HttpResponse => {
    seen++;
    const { status, headers } = answer();
    return path === '/a' && isStanding ? answer() : { status, headers };
  };
  const { connection, said, transport } = converseHttp1(wireHandlerFrom(handler, () => {}));
  for (let at = 0, turn = 0; at < wire.length; turn++) {
    const end = at + 1 + (cuts[turn % cuts.length] as number);
    receiveShared(connection, wire.slice(at, end));
    at = end;
  }
  return { answers: said(), isEnded: transport.isEnded, seen };
}

test('conversations are the same with and without standing answers, however they are split', () => {
  let saved = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(requests[0] as string) }, fc.constantFrom(...requests)), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.array(fc.constantFrom(0, 3, 20, 33, 34, 35, 66, 5000), { minLength: 1, maxLength: 8 }),
      (all, cuts) => {
        const wire = all.join('');
        const [quick, slow] = [conversation(true, wire, cuts), conversation(false, wire, [5000])];
        saved += slow.seen - quick.seen;
        expect({ ...quick, seen: 0 }).toEqual({ ...slow, seen: 0 });
      },
    ),
    { seed: 110, numRuns: process.env.TEST_LONG === '1' ? 5000 : 500 },
  );
  expect(saved).toBeGreaterThan(100);
});
