/** The cache of repeated heads is invisible: a conversation is the same as one without it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WireHandler } from '../wire/wire-exchange.ts';
import type { UpgradeSeam } from './connection.ts';
import { repeatedHeadBytesMax } from './repeated-head.ts';
import { converseHttp1, receiveShared } from './testing/conversation.ts';

/** A field that is ignored; if long enough, its head is not cached. */
const filler = (length: number): string => `X-Filler: ${'f'.repeat(length)}\r\n`;

const heads = [
  'GET /a HTTP/1.1\r\nHost: h\r\n',
  'GET /b HTTP/1.1\r\nHost: h\r\n',
  'HEAD /a HTTP/1.1\r\nHost: h\r\n',
  'GET /a HTTP/1.0\r\n',
  'GET /a HTTP/1.0\r\nConnection: keep-alive\r\n',
  'GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n',
  'GET /a HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: other\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n',
  'POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n',
  'GET /a b HTTP/1.1\r\nHost: h\r\n',
];

const bodies = [
  '',
  'xyz',
  'GET',
  '3\r\nxyz\r\n0\r\n\r\n',
  '3\r\nxyz\r\n0\r\nX-T: 1\r\n\r\n',
  '0\r\nHost: h\r\n\r\n',
  '\r\n',
];

const message = fc.record({
  head: fc.constantFrom(...heads),
  before: fc.constantFrom('', '', '', '', '\r\n'),
  isOwnBody: fc.constantFrom(true, true, true, true, true, false),
  body: fc.nat(),
});

/** Mostly the body that the head announces: otherwise few conversations would get beyond their first request. */
function bodyOf({ head, isOwnBody, body }: { head: string; isOwnBody: boolean; body: number }): string {
  const fitting = head.includes('chunked') ? bodies.slice(3, 5) : head.includes(': 3') ? bodies.slice(1, 3) : [''];
  const from = isOwnBody ? fitting : bodies;
  return from[body % from.length] as string;
}

/** Answers at once, or when the body is there, or later; never reads some bodies. */
function answering(log: string[], later: (() => void)[]): WireHandler {
  return (exchange) => {
    const n = log.length;
    log.push(`${exchange.method} ${exchange.path} ${exchange.version}`);
    const answer = (body: string) => exchange.answer(200, [], Buffer.from(`<${body}>`), undefined, undefined);
    if (n % 5 === 4) return answer('unread');
    let body = '';
    exchange.listener = {
      onData: (piece) => {
        body += Buffer.from(piece).toString('latin1');
      },
      onEnd: () => {
        log.push(`ended ${body} ${[...exchange.trailers.entries()].join()}`);
        if (n % 3 === 2) later.push(() => answer(body));
        else answer(body);
      },
      onAbort: (reason) => {
        log.push(`aborted: ${reason}`);
        exchange.end();
      },
      onDrain: () => {},
      onRefused: () => {},
    };
    exchange.resume();
  };
}

const noUpgrades: UpgradeSeam = { onUpgrade: () => undefined, switchTo: () => {} };

function goesOn(wire: string, cuts: readonly number[], isShared = false): object {
  const log: string[] = [];
  const later: (() => void)[] = [];
  const { connection, receive, said, transport } = converseHttp1(answering(log, later), {}, noUpgrades);
  let at = 0;
  const answerLater = () => {
    for (const answer of later.splice(0)) answer();
  };
  for (let turn = 0; at < wire.length; turn++) {
    const end = at + 1 + (cuts[turn % cuts.length] as number);
    if (isShared) receiveShared(connection, wire.slice(at, end));
    else receive(wire.slice(at, end));
    at = end;
    answerLater();
  }
  while (later.length > 0) answerLater();
  return { log, said: said(), isEnded: transport.isEnded };
}

test('requests are parsed the same, whatever came before them and however they are split', () => {
  const messages = fc.array(message, { minLength: 1, maxLength: 12 });
  const cuts = fc.array(fc.constantFrom(0, 1, 2, 7, 30, 60, 200, 5000), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(messages, cuts, (all, where) => {
      const wire = (more: string) => all.map((one) => `${one.before}${one.head}${more}\r\n${bodyOf(one)}`).join('');
      const kept = goesOn(wire(filler(1)), where);
      const unkept = goesOn(wire(filler(repeatedHeadBytesMax)), [0]);
      expect(kept).toEqual(unkept);
      expect(goesOn(wire(''), [100_000])).toEqual(kept);
      expect(goesOn(wire(filler(1)), where, true)).toEqual(kept);
    }),
    { seed: 9112, numRuns: process.env.TEST_LONG === '1' ? 600 : 100 },
  );
});
