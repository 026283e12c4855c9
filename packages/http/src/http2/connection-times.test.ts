import { clientPreface, errorCode, frameFlag, frameType, settingId, streamIdMax } from '@millrace/http2';
import {
  data,
  type Fields,
  frame,
  framesFrom,
  getFields,
  headers,
  ping,
  postFields,
  settings,
  windowUpdate,
} from '@millrace/http2/testing';
import { describe, expect, test } from 'vitest';
import { MemoryHost } from '../wire/testing/memory-host.ts';
import { MemoryTransport } from '../wire/testing/memory-transport.ts';
import type { WireExchange } from '../wire/wire-exchange.ts';
import { Http2Connection } from './connection.ts';
import { converseHttp2, listener, measure } from './testing/conversation.ts';

const calm = errorCode.enhanceYourCalm;

describe('slow clients', () => {
  test('a preface that does not come within prefaceMsMax ends the connection', () => {
    const host = new MemoryHost(measure, { prefaceMsMax: 5000 });
    const transport = new MemoryTransport();
    const connection = new Http2Connection(host, transport);
    connection.receive(clientPreface.subarray(0, 10));
    host.pass(4000);
    connection.receive(clientPreface.subarray(10, 12));
    expect(transport.isEnded).toBe(false);
    host.pass(2000);
    const goaway = framesFrom(transport.take()).at(-1);
    expect(goaway?.payload.readUInt32BE(4)).toBe(errorCode.settingsTimeout);
    expect(transport.isEnded).toBe(true);
    host.pass(3000);
    expect(transport.isDestroyed).toBe(true);
  });

  test('a header block must be complete within headMsMax, even if bytes keep arriving', () => {
    const { host, receive, said } = converseHttp2(measure, { headMsMax: 5000, continuationFramesMax: 1000 });
    receive(frame(frameType.headers, 0, 1));
    for (let second = 0; second < 4; second++) {
      host.pass(1000);
      receive(frame(frameType.continuation, 0, 1));
    }
    expect(said()).toEqual([]);
    host.pass(2000);
    expect(said()).toEqual([`goaway last 0 code ${calm} header block not complete in time`]);
  });

  test('a frame that has begun must continue within headMsMax', () => {
    const { host, receive, said } = converseHttp2(measure, { headMsMax: 5000 });
    receive(ping().subarray(0, 5));
    host.pass(6000);
    expect(said()).toEqual([`goaway last 0 code ${calm} frame not complete in time`]);
  });

  test('a body of declared length must keep bodyBytesPerSecondMin; one without may have any rate', () => {
    const reasons: string[] = [];
    const { host, receive, said } = converseHttp2(
      (exchange) => {
        exchange.listener = listener(
          () => {},
          (reason) => {
            reasons.push(reason);
            exchange.end();
          },
        );
        exchange.resume();
      },
      { bodyStallMsMax: 10_000, bodyBytesPerSecondMin: 10, keepAlivePingMs: 1e6 },
    );
    const declared: Fields = [...postFields, ['content-length', '100000']];
    receive(headers(1, declared, false), headers(3, declared, false), headers(5, postFields, false));
    for (let second = 0; second < 12; second++) {
      receive(data(1, 'x', false), data(3, 'y'.repeat(20), false));
      host.pass(1000);
    }
    expect(said()).toEqual([`1 reset ${errorCode.cancel}`]);
    expect(reasons).toEqual(['the request body arrived too slowly']);
  });

  test('a body of declared length must be complete within bodyMsMax, however fast it is', () => {
    const { host, receive, said } = converseHttp2(measure, { bodyMsMax: 5000, keepAlivePingMs: 1e6 });
    receive(headers(1, [...postFields, ['content-length', '100000']], false), headers(3, postFields, false));
    for (let second = 0; second < 6; second++) {
      receive(data(1, 'y'.repeat(1000), false));
      host.pass(1000);
    }
    expect(said()).toEqual([`1 reset ${errorCode.cancel}`]);
  });

  test('an unread body does not count against the client', () => {
    const { host, receive, said } = converseHttp2(() => {}, { bodyStallMsMax: 1000, keepAlivePingMs: 1e6 });
    receive(headers(1, [...postFields, ['content-length', '100000']], false));
    host.pass(10_000);
    expect(said()).toEqual([]);
  });

  test('an answer whose window stays closed for responseStallMsMax is reset, and its memory released', () => {
    let released = 0;
    const { host, receive, said } = converseHttp2(
      (exchange) => exchange.answer(200, [], Buffer.alloc(100), undefined, () => released++),
      { responseStallMsMax: 5000 },
    );
    receive(settings([settingId.initialWindowSize, 0]), headers(1, getFields, true));
    said();
    host.pass(4000);
    expect(released).toBe(0);
    host.pass(2000);
    expect(said()).toEqual([`1 reset ${errorCode.cancel}`]);
    expect(released).toBe(1);
  });

  test('a window must be opened by responseBytesPerSecondMin on average', () => {
    const limits = { responseStallMsMax: 5000, responseBytesPerSecondMin: 10 };
    for (const [bytesPerSecond, isGivenUp] of [
      [9, true],
      [15, false],
    ] as const) {
      const { host, receive, said } = converseHttp2(
        (exchange) => exchange.answer(200, [], Buffer.alloc(1000), undefined, undefined),
        limits,
      );
      receive(settings([settingId.initialWindowSize, 0]), headers(1, getFields, true));
      let isReset = false;
      for (let second = 0; second < 20 && !isReset; second++) {
        receive(windowUpdate(1, bytesPerSecond));
        host.pass(1000);
        isReset = said().includes(`1 reset ${errorCode.cancel}`);
      }
      expect(isReset).toBe(isGivenUp);
    }
  });

  test('a transport that takes nothing for responseStallMsMax is destroyed', () => {
    const { host, receive, transport } = converseHttp2(measure, { responseStallMsMax: 5000 });
    transport.isStuck = true;
    receive(headers(1, getFields, true));
    host.pass(4000);
    expect(transport.isDestroyed).toBe(false);
    host.pass(3000);
    expect(transport.isDestroyed).toBe(true);
  });
});

describe('keepalive', () => {
  test('a silent client is pinged after keepAlivePingMs and dropped when it does not answer', () => {
    const { host, said, transport } = converseHttp2(measure, { keepAlivePingMs: 10_000, keepAliveTimeoutMs: 5000 });
    host.pass(9000);
    expect(said()).toEqual([]);
    host.pass(2000);
    expect(said()).toEqual([`0 type ${frameType.ping}`]);
    host.pass(6000);
    expect(transport.isDestroyed).toBe(true);
  });

  test('a client that answers its ping is kept', () => {
    const { host, said, receive, transport } = converseHttp2(measure, {
      keepAlivePingMs: 10_000,
      keepAliveTimeoutMs: 5000,
    });
    for (let round = 0; round < 5; round++) {
      host.pass(11_000);
      expect(said()).toEqual([`0 type ${frameType.ping}`]);
      receive(frame(frameType.ping, frameFlag.ack, 0, Buffer.from('millkeep')));
    }
    expect(transport.isEnded).toBe(false);
  });

  test('pings more often than pingIntervalMsMin earn strikes, and one too many of them too_many_pings', () => {
    const { said, receive } = converseHttp2(measure, { pingIntervalMsMin: 10_000, pingStrikesMax: 2 });
    for (let count = 0; count < 3; count++) receive(ping());
    expect(said()).toEqual([`0 type ${frameType.ping}`, `0 type ${frameType.ping}`, `0 type ${frameType.ping}`]);
    receive(ping());
    expect(said()).toEqual([`goaway last 0 code ${calm} too_many_pings`]);
  });

  test('pings at an allowed rate, or between answers, earn none', () => {
    const { said, receive, host } = converseHttp2(measure, { pingIntervalMsMin: 10_000, pingStrikesMax: 0 });
    for (let count = 0; count < 5; count++) {
      receive(ping());
      host.pass(10_000);
    }
    for (let id = 1; id < 20; id += 2) receive(headers(id, getFields, true), ping());
    expect(said().filter((word) => word.startsWith('goaway'))).toEqual([]);
  });
});

test('a client may ping as often as it is sent something', () => {
  let exchange: WireExchange | undefined;
  const { said, receive } = converseHttp2(
    (opened) => {
      exchange = opened;
      opened.start(200, []);
    },
    { pingIntervalMsMin: 10_000, pingStrikesMax: 0 },
  );
  receive(headers(1, getFields, true));
  for (let round = 0; round < 20; round++) {
    exchange?.write(Buffer.alloc(10));
    said();
    receive(ping());
    expect(said()).toEqual([`0 type ${frameType.ping}`]);
  }
});

describe('age and idleness', () => {
  test('a connection older than connectionAgeMsMax gets GOAWAY, and is closed after connectionAgeGraceMs', () => {
    const exchanges: WireExchange[] = [];
    const { host, said, receive, transport } = converseHttp2((exchange) => exchanges.push(exchange), {
      connectionAgeMsMax: 10_000,
      connectionAgeGraceMs: 5000,
      keepAlivePingMs: 1e6,
    });
    receive(headers(1, getFields, true));
    host.pass(11_000);
    expect(said()).toEqual([`goaway last ${streamIdMax} code 0 `, `0 type ${frameType.ping}`]);
    host.pass(3000);
    expect(transport.isDestroyed).toBe(false);
    host.pass(3000);
    expect(transport.isDestroyed).toBe(true);
    expect(exchanges[0]?.isStarted).toBe(false);
  });

  test('a connection without a request for idleMsMax gets GOAWAY', () => {
    const { host, said, receive, transport } = converseHttp2(measure, { idleMsMax: 10_000 });
    host.pass(8000);
    receive(headers(1, getFields, true));
    said();
    host.pass(9000);
    expect(transport.isEnded).toBe(false);
    host.pass(4000);
    expect(said()).toEqual([`goaway last ${streamIdMax} code 0 `, `0 type ${frameType.ping}`, 'goaway last 1 code 0 ']);
    expect(transport.isEnded).toBe(true);
  });

  test('a request that takes long does not make its connection idle', () => {
    const { host, receive, transport } = converseHttp2(() => {}, { idleMsMax: 10_000, keepAlivePingMs: 1e6 });
    receive(headers(1, getFields, true));
    host.pass(60_000);
    expect(transport.isEnded).toBe(false);
  });
});
