import { errorCode, settingId } from '@millrace/http2';
import {
  data,
  type Fields,
  getFields,
  headers,
  postFields,
  reset,
  settings,
  windowUpdate,
} from '@millrace/http2/testing';
import { describe, expect, test } from 'vitest';
import type { WireExchange } from '../wire/wire-exchange.ts';
import { converseHttp2, listener } from './testing/conversation.ts';

describe('flow control', () => {
  test('a body is sent as far as the windows allow, and continues as they open', () => {
    const { receive, said } = converseHttp2((exchange) =>
      exchange.answer(200, [], Buffer.alloc(50), undefined, undefined),
    );
    receive(settings([settingId.initialWindowSize, 10]), headers(1, getFields, true));
    expect(said()).toEqual(['settings ack', '1 headers :status=200 content-length=50', '1 data 10']);
    receive(windowUpdate(1, 5));
    expect(said()).toEqual(['1 data 5']);
    receive(settings([settingId.initialWindowSize, 30]));
    expect(said()).toEqual(['settings ack', '1 data 20']);
    receive(windowUpdate(1, 100));
    expect(said()).toEqual(['1 data 15 end']);
  });

  test('a window that settings made negative stays closed until it is positive again', () => {
    const { receive, said } = converseHttp2((exchange) =>
      exchange.answer(200, [], Buffer.alloc(50), undefined, undefined),
    );
    receive(settings([settingId.initialWindowSize, 20]), headers(1, getFields, true));
    receive(settings([settingId.initialWindowSize, 5]));
    said();
    receive(windowUpdate(1, 15));
    expect(said()).toEqual([]);
    receive(windowUpdate(1, 1));
    expect(said()).toEqual(['1 data 1']);
  });

  test('the connection window is shared: streams take turns', () => {
    const { receive, said } = converseHttp2((exchange) =>
      exchange.answer(200, [], Buffer.alloc(100_000), undefined, undefined),
    );
    receive(settings([settingId.initialWindowSize, 1 << 20]), headers(1, getFields, true), headers(3, getFields, true));
    expect(said().filter((word) => word.includes('data'))).toEqual([
      '1 data 16384',
      '3 data 16384',
      '1 data 16384',
      '3 data 16383',
    ]);
    receive(windowUpdate(0, 20_000));
    expect(said()).toEqual(['1 data 16384', '3 data 3616']);
  });

  test('the client gets its window back only as the application reads', () => {
    let exchange: WireExchange | undefined;
    const { receive, said } = converseHttp2(
      (opened) => {
        exchange = opened;
        opened.listener = listener(() => {});
      },
      { streamWindowBytes: 65_535, connectionWindowBytes: 65_535 },
    );
    receive(headers(1, postFields, false));
    for (let sent = 0; sent < 65_535; sent += 13_107) receive(data(1, Buffer.alloc(13_107), false));
    expect(said()).toEqual([]);
    exchange?.resume();
    expect(said()).toEqual(['0 window 39321', '1 window 39321']);
  });

  test('a client is told what it may send in addition when it may run out, or with an answer', () => {
    const exchanges: WireExchange[] = [];
    const { receive, said } = converseHttp2(
      (opened) => {
        exchanges.push(opened);
        opened.listener = listener(() => {});
        opened.resume();
      },
      { streamWindowBytes: 100_000, connectionWindowBytes: 200_000 },
    );
    receive(headers(1, postFields, false));
    for (let count = 0; count < 4; count++) receive(data(1, Buffer.alloc(16_000), false));
    // 36,000 of the stream's window are left, which is more than a quarter.
    expect(said()).toEqual([]);
    receive(data(1, Buffer.alloc(16_000), false));
    expect(said()).toEqual(['1 window 80000']);
    receive(data(1, Buffer.alloc(10), true));
    expect(said()).toEqual([]);
    exchanges[0]?.answer(200, [], undefined, undefined, undefined);
    expect(said()).toEqual(['1 headers :status=200 end', '0 window 80010']);
  });

  test('more than the window is a flow control error, of the stream or of the connection', () => {
    const limits = { streamWindowBytes: 65_535, connectionWindowBytes: 80_000 };
    const { receive, said } = converseHttp2(() => {}, limits);
    receive(headers(1, postFields, false));
    for (let count = 0; count < 4; count++) receive(data(1, Buffer.alloc(16_000), false));
    receive(data(1, Buffer.alloc(1536), false));
    expect(said()).toEqual([`1 reset ${errorCode.flowControlError}`, '0 window 65536']);
    const other = converseHttp2(() => {}, limits);
    other.receive(headers(1, postFields, false), headers(3, postFields, false));
    for (let count = 0; count < 7; count++) other.receive(data(count % 2 === 0 ? 1 : 3, Buffer.alloc(16_000), false));
    expect(other.said()[0]).toContain(`code ${errorCode.flowControlError}`);
  });

  test('an application that writes faster than the client reads is told to wait, and when to continue', () => {
    let exchange: WireExchange | undefined;
    let drains = 0;
    const { receive, said } = converseHttp2((opened) => {
      exchange = opened;
      opened.listener = { ...listener(() => {}), onDrain: () => drains++ };
      opened.start(200, []);
    });
    receive(settings([settingId.initialWindowSize, 20_000]), headers(1, getFields, true));
    expect(exchange?.write(Buffer.alloc(10_000))).toBe(true);
    expect(exchange?.write(Buffer.alloc(15_000))).toBe(false);
    said();
    expect(drains).toBe(0);
    receive(windowUpdate(1, 10_000));
    expect(drains).toBe(1);
    expect(exchange?.write(Buffer.alloc(1))).toBe(true);
  });

  test('a client that opens its window frame by frame is not treated as a flood', () => {
    const bytes = 16_384 * 500;
    const { receive, said } = converseHttp2(
      (exchange) => exchange.answer(200, [], Buffer.alloc(bytes), undefined, undefined),
      {
        controlFramesBurstMax: 20,
        controlFramesPerSecondMax: 1,
      },
    );
    receive(settings([settingId.initialWindowSize, 16_384]), headers(1, getFields, true));
    let sent = 0;
    for (let round = 0; round < 500; round++) {
      for (const word of said()) sent += Number(/data (\d+)/.exec(word)?.[1] ?? 0);
      receive(windowUpdate(1, 16_384), windowUpdate(0, 16_384));
    }
    expect(sent).toBe(bytes);
  });

  test('small writes of one tick are sent in one frame', () => {
    const { receive, said } = converseHttp2((exchange) => {
      exchange.start(200, []);
      for (let at = 0; at < 10; at++) exchange.write(Buffer.alloc(7));
      exchange.end([['x-end', 'yes']]);
    });
    receive(headers(1, getFields, true));
    expect(said()).toEqual(['1 headers :status=200', '1 data 70', '1 headers x-end=yes end']);
  });

  test('a transport that accepts nothing stops the body and then the reading', () => {
    const body = Buffer.alloc(1 << 20);
    const { receive, transport, connection } = converseHttp2(
      (exchange) => exchange.answer(200, [], body, undefined, undefined),
      { outputBytesMax: 65_536 },
    );
    receive(settings([settingId.initialWindowSize, 1 << 24]), windowUpdate(0, 1 << 24));
    transport.isStuck = true;
    receive(headers(1, getFields, true));
    expect(transport.pendingBytes).toBeGreaterThan(65_536);
    expect(transport.pendingBytes).toBeLessThan(2 * 65_536);
    expect(transport.isPaused).toBe(false);
    for (let id = 3; !transport.isPaused && id < 10_000; id += 2) receive(headers(id, [], true));
    expect(transport.isPaused || connection.isStopped).toBe(true);
  });
});

describe('release', () => {
  test('a small body is released at once, a large one when the kernel has it', () => {
    const released: string[] = [];
    const { receive, transport, host } = converseHttp2((exchange) => {
      const bytes = exchange.path === '/small' ? 100 : 10_000;
      exchange.answer(200, [], Buffer.alloc(bytes), undefined, () => released.push(exchange.path));
    });
    transport.isStuck = true;
    const to = (path: string): Fields => getFields.map(([name, value]) => [name, name === ':path' ? path : value]);
    receive(headers(1, to('/small'), true), headers(3, to('/large'), true));
    host.settle();
    expect(released).toEqual(['/small']);
    transport.unstick();
    expect(released).toEqual(['/small', '/large']);
  });

  test('a body that is never sent is released when the stream or the connection closes', () => {
    let released = 0;
    const { receive, connection } = converseHttp2((exchange) =>
      exchange.answer(200, [], Buffer.alloc(10_000), undefined, () => released++),
    );
    receive(settings([settingId.initialWindowSize, 0]), headers(1, getFields, true), headers(3, getFields, true));
    expect(released).toBe(0);
    receive(reset(1));
    expect(released).toBe(1);
    connection.onClosed();
    expect(released).toBe(2);
  });
});
