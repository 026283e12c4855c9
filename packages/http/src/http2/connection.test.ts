import { errorCode, frameFlag, frameType, streamIdMax } from '@millrace/http2';
import {
  data,
  type Fields,
  frame,
  framesFrom,
  getFields,
  headers,
  postFields,
  reset,
  windowUpdate,
} from '@millrace/http2/testing';
import { describe, expect, test, vi } from 'vitest';
import { MemoryHost } from '../wire/testing/memory-host.ts';
import { MemoryTransport } from '../wire/testing/memory-transport.ts';
import type { WireExchange } from '../wire/wire-exchange.ts';
import { Http2Connection } from './connection.ts';
import { converseHttp2, listener, measure } from './testing/conversation.ts';

describe('requests and answers', () => {
  test('our preface announces the limits', () => {
    const host = new MemoryHost(measure, { streamsMax: 7, streamWindowBytes: 70_000, connectionWindowBytes: 100_000 });
    const transport = new MemoryTransport();
    new Http2Connection(host, transport).flush();
    const [announced, window] = framesFrom(transport.take());
    expect(announced?.payload.toString('hex')).toContain(`0003${(7).toString(16).padStart(8, '0')}`);
    expect(announced?.payload.toString('hex')).toContain(`0004${(70_000).toString(16).padStart(8, '0')}`);
    expect(window?.payload.readUInt32BE()).toBe(100_000 - 65_535);
  });

  test('a body in many frames, some of them padded, has the right length', () => {
    const { receive, said } = converseHttp2(measure);
    const padded = frame(frameType.data, frameFlag.padded, 1, Buffer.from('\x03abc\0\0\0', 'latin1'));
    receive(headers(1, postFields, false), data(1, 'hello', false), padded, data(1, '', true));
    expect(said()).toEqual(['1 headers :status=200 x-bytes=8 end']);
  });

  test('answers to many requests of one chunk are sent before all have been handled', () => {
    const { receive, said, transport } = converseHttp2(measure);
    const write = vi.spyOn(transport, 'write');
    const ids = Array.from({ length: 40 }, (_, index) => 2 * index + 1);
    receive(...ids.flatMap((id) => [headers(id, postFields, false), data(id, 'a', true)]));
    expect(write).toHaveBeenCalledTimes(3);
    expect(said()).toEqual(ids.map((id) => `${id} headers :status=200 x-bytes=1 end`));
  });

  test('an answer with trailers has no length, and ends with the trailers', () => {
    const { receive, said } = converseHttp2((exchange) =>
      exchange.answer(200, [], Buffer.from('hello'), [['grpc-status', '0']], undefined),
    );
    receive(headers(1, getFields, true));
    expect(said()).toEqual(['1 headers :status=200', '1 data 5', '1 headers grpc-status=0 end']);
  });

  test('an answer to HEAD declares the length and sends no body', () => {
    const { receive, said } = converseHttp2((exchange) =>
      exchange.answer(200, [], Buffer.from('hello'), undefined, undefined),
    );
    receive(headers(1, [[':method', 'HEAD'], ...getFields.slice(1)], true));
    expect(said()).toEqual(['1 headers :status=200 content-length=5 end']);
  });

  test('an interim answer comes when the body is wanted, and never after the final one', () => {
    const waiting: WireExchange[] = [];
    const { receive, said } = converseHttp2((exchange) => waiting.push(exchange));
    receive(headers(1, [...postFields, ['expect', '100-continue']], false));
    expect(said()).toEqual([]);
    const [exchange] = waiting as [WireExchange];
    exchange.listener = listener(() => exchange.answer(200, [], undefined, undefined, undefined));
    exchange.resume();
    expect(said()).toEqual(['1 headers :status=100']);
    receive(data(1, 'x', true));
    exchange.inform(103, []);
    expect(said()).toEqual(['1 headers :status=200 end']);
  });

  test('an expectation nobody can meet is refused', () => {
    const { receive, said } = converseHttp2(measure);
    receive(headers(1, [...getFields, ['expect', 'tea']], true));
    expect(said()[0]).toContain(':status=417');
  });

  test('an answer before the end of the body asks the client to stop, and later frames are ignored', () => {
    const { receive, said } = converseHttp2((exchange) => exchange.answer(413, [], undefined, undefined, undefined));
    receive(headers(1, postFields, false));
    expect(said()).toEqual(['1 headers :status=413 end', `1 reset ${errorCode.noError}`]);
    receive(data(1, 'late', false), headers(1, [['x-late', 'yes']], true));
    expect(said()).toEqual([]);
  });

  test('split cookie fields are joined', () => {
    let cookie: string | undefined;
    const { receive } = converseHttp2((exchange) => {
      cookie = exchange.headers.get('cookie');
      exchange.answer(204, [], undefined, undefined, undefined);
    });
    receive(headers(1, [...getFields, ['cookie', 'a=1'], ['cookie', 'b=2']], true));
    expect(cookie).toBe('a=1; b=2');
  });

  test('a header block longer than a frame is sent in several frames', () => {
    const { receive, transport, host } = converseHttp2((exchange) =>
      exchange.answer(200, [['x-long', 'v'.repeat(40_000)]], undefined, undefined, undefined),
    );
    receive(headers(1, getFields, true));
    host.settle();
    expect(framesFrom(transport.take()).map((one) => one.type)).toEqual([1, 9, 9]);
  });

  test('a field that may not be sent breaks nothing but its own answer', () => {
    const { receive, said } = converseHttp2((exchange) => {
      const fields: [string, string][] = [
        ['x-good', 'indexed'],
        ...(exchange.path === '/bad' ? [['X-Bad', ''] as [string, string]] : []),
      ];
      try {
        exchange.answer(200, fields, undefined, undefined, undefined);
      } catch {
        exchange.answer(500, [], undefined, undefined, undefined);
      }
    });
    const bad: Fields = getFields.map(([name, value]) => [name, name === ':path' ? '/bad' : value]);
    receive(headers(1, bad, true), headers(3, getFields, true), headers(5, getFields, true));
    expect(said()).toEqual([
      '1 headers :status=500 end',
      '3 headers :status=200 x-good=indexed end',
      '5 headers :status=200 x-good=indexed end',
    ]);
  });
});

describe('endings', () => {
  test('a reset by the client reaches the application once', () => {
    const reasons: string[] = [];
    const { receive } = converseHttp2((exchange) => {
      exchange.listener = listener(
        () => {},
        (reason) => reasons.push(reason),
      );
      exchange.resume();
    });
    receive(headers(1, postFields, false), reset(1), reset(1));
    expect(reasons).toEqual(['the client reset the stream with code 8']);
  });

  test('drain sends GOAWAY, takes requests in transit, answers open ones and then closes', () => {
    const exchanges: WireExchange[] = [];
    const { receive, said, connection, transport } = converseHttp2((exchange) => exchanges.push(exchange));
    receive(headers(1, getFields, true));
    connection.drain();
    expect(said()).toEqual([`goaway last ${streamIdMax} code 0 `, `0 type ${frameType.ping}`]);
    receive(headers(3, getFields, true));
    receive(frame(frameType.ping, frameFlag.ack, 0, Buffer.from('milldrai')));
    expect(said()).toEqual(['goaway last 3 code 0 ']);
    receive(headers(5, getFields, true));
    expect(exchanges).toHaveLength(2);
    for (const exchange of exchanges) exchange.answer(204, [], undefined, undefined, undefined);
    expect(said()).toEqual(['1 headers :status=204 end', '3 headers :status=204 end']);
    expect(transport.isEnded).toBe(true);
  });

  test('a connection error sends the reason and aborts all requests', () => {
    const reasons: string[] = [];
    const { receive, said, transport } = converseHttp2((exchange) => {
      exchange.listener = listener(
        () => {},
        (reason) => reasons.push(reason),
      );
    });
    receive(headers(1, postFields, false), data(0, 'x', false));
    expect(said()).toEqual([`goaway last 1 code ${errorCode.protocolError} DATA on an idle stream`]);
    expect(reasons).toEqual(['DATA on an idle stream']);
    expect(transport.isEnded).toBe(true);
  });

  test('frames on closed streams are answered by how the stream ended', () => {
    const { receive, said } = converseHttp2(measure);
    receive(headers(3, postFields, false), reset(3), data(3, 'x', false));
    expect(said()).toEqual([`3 reset ${errorCode.streamClosed}`]);
    receive(windowUpdate(3, 1), reset(3));
    expect(said()).toEqual([]);
    const skipped = converseHttp2(measure);
    skipped.receive(headers(5, getFields, true), headers(3, getFields, true));
    expect(skipped.said()[1]).toContain(`code ${errorCode.protocolError}`);
    const completed = converseHttp2(measure);
    completed.receive(headers(1, getFields, true), headers(1, getFields, true));
    expect(completed.said()[1]).toContain(`code ${errorCode.streamClosed}`);
  });
});

test('one byte at a time gives the same result', () => {
  const conversation = Buffer.concat([
    headers(1, postFields, false),
    frame(frameType.data, frameFlag.padded, 1, Buffer.from('\x02abc\0\0', 'latin1')),
    frame(frameType.priority, 0, 1, Buffer.of(0, 0, 0, 0, 1)),
    data(1, 'defgh', false),
    headers(1, [['x-trailer', 'yes']], true),
    headers(3, getFields, true),
  ]);
  const whole = converseHttp2(measure);
  whole.receive(conversation);
  const cut = converseHttp2(measure);
  for (const byte of conversation) cut.receive(Buffer.of(byte));
  expect(cut.said()).toEqual(whole.said());
});
