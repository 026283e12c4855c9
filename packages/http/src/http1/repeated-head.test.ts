import { describe, expect, test } from 'vitest';
import type { HeaderFields } from '../exchange.ts';
import type { WireExchange } from '../wire/wire-exchange.ts';
import { repeatedHeadBytesMax } from './repeated-head.ts';
import { converseHttp1 } from './testing/conversation.ts';

/** Answers with what the request was; keeps the fields it came with. */
function telling(): { readonly seen: HeaderFields[]; readonly handler: (exchange: WireExchange) => void } {
  const seen: HeaderFields[] = [];
  const handler = (exchange: WireExchange): void => {
    let body = '';
    seen.push(exchange.headers);
    exchange.listener = {
      onData: (piece) => {
        body += Buffer.from(piece).toString('latin1');
      },
      onEnd: () => {
        const told = `${exchange.method} ${exchange.path} ${exchange.headers.get('x-n') ?? ''} ${body}`;
        exchange.answer(200, [], Buffer.from(`<${told}>`), undefined, undefined);
      },
      onAbort: () => exchange.end(),
      onDrain: () => {},
      onRefused: () => {},
    };
    exchange.resume();
  };
  return { seen, handler };
}

const head = (path: string, length: number, n = '1'): string =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nX-N: ${n}\r\nContent-Length: ${length}\r\n\r\n`;

const told = (said: string): string[] => [...said.matchAll(/<([^>]*)>/g)].map((match) => match[1] as string);

describe('a head that comes again', () => {
  test('is parsed the same, with another body, and has the same fields', () => {
    const { seen, handler } = telling();
    const { receive, said } = converseHttp1(handler);
    receive(`${head('/a', 2)}xy`);
    receive(`${head('/a', 2)}zw`);
    expect(told(said())).toEqual(['POST /a 1 xy', 'POST /a 1 zw']);
    expect(seen[1]).toBe(seen[0]);
  });

  test('is distinguished from one that differs in any byte, also of the same length', () => {
    const { seen, handler } = telling();
    const { receive, said } = converseHttp1(handler);
    receive(`${head('/a', 2)}xy`);
    receive(`${head('/b', 2)}xy`);
    receive(`${head('/b', 3)}xyz`);
    receive(`${head('/b', 3, '2')}xyz`);
    receive(`${head('/a', 2)}xy`);
    expect(told(said())).toEqual(['POST /a 1 xy', 'POST /b 1 xy', 'POST /b 1 xyz', 'POST /b 2 xyz', 'POST /a 1 xy']);
    expect(new Set(seen).size).toBe(5);
  });

  test('may be pipelined, and split anywhere', () => {
    const whole = [`${head('/a', 2)}xy`.repeat(3), head('/a', 1), 'q'].join('');
    const expected = ['POST /a 1 xy', 'POST /a 1 xy', 'POST /a 1 xy', 'POST /a 1 q'];
    for (let pieceBytes = 1; pieceBytes <= whole.length; pieceBytes++) {
      const { receive, said } = converseHttp1(telling().handler);
      for (let at = 0; at < whole.length; at += pieceBytes) receive(whole.slice(at, at + pieceBytes));
      expect(told(said())).toEqual(expected);
    }
  });

  test('does not match a head that only begins the same: one more field makes another', () => {
    const { seen, handler } = telling();
    const { receive, said } = converseHttp1(handler);
    const short = 'GET /a HTTP/1.1\r\nHost: h\r\n\r\n';
    receive(short);
    receive('GET /a HTTP/1.1\r\nHost: h\r\nX-N: 7\r\n\r\n');
    receive(short);
    expect(told(said())).toEqual(['GET /a  ', 'GET /a 7 ', 'GET /a  ']);
    expect(new Set(seen).size).toBe(3);
  });

  test('is parsed again if it is longer than repeatedHeadBytesMax, and drops the shorter one before it', () => {
    const { seen, handler } = telling();
    const { receive, said } = converseHttp1(handler);
    const long = head('/long', 1, 'n'.repeat(repeatedHeadBytesMax));
    receive(`${head('/a', 1)}x`);
    receive(`${long}y`);
    receive(`${long}z`);
    receive(`${head('/a', 1)}x`);
    expect(told(said()).map((line) => line.split(' ')[1])).toEqual(['/a', '/long', '/long', '/a']);
    expect(new Set(seen).size).toBe(4);
  });

  test('closes the connection again where it says so, and is refused again where it was', () => {
    const closing = 'GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';
    const { receive, said, transport } = converseHttp1(telling().handler);
    receive(`GET /a HTTP/1.1\r\nHost: h\r\n\r\n${closing}${closing}`);
    expect(told(said())).toHaveLength(2);
    expect(transport.isEnded).toBe(true);
  });

  test('does not match in the middle of another head or among trailers, even if a chunk begins with it', () => {
    const known = 'GET /a HTTP/1.1\r\nHost: h\r\n\r\n';
    const inValue = converseHttp1(telling().handler);
    inValue.receive(known);
    inValue.receive('GET /b HTTP/1.1\r\nX-N: ');
    inValue.receive(known);
    expect(told(inValue.said())).toEqual(['GET /a  ', 'GET /b GET /a HTTP/1.1 ']);
    const chunked = 'POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n';
    const inTrailers = converseHttp1(telling().handler);
    inTrailers.receive(`${chunked}1\r\nx\r\n0\r\n\r\n`);
    inTrailers.receive(`${chunked}1\r\ny\r\n0\r\n`);
    inTrailers.receive(chunked);
    const said = inTrailers.said();
    expect(told(said)).toEqual(['POST /a  x']);
    expect(said).toContain('HTTP/1.1 400 ');
    expect(inTrailers.transport.isEnded).toBe(true);
  });
});
