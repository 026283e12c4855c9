import { errorCode } from '@millrace/http2';
import { data, getFields, headers, postFields, reset } from '@millrace/http2/testing';
import { describe, expect, test, vi } from 'vitest';
import { inputTurns } from '../wire/input-turns.ts';
import { ScriptedMemory } from '../wire/testing/scripted-memory.ts';
import { requestOverheadBytes, type WireExchange, type WireHandler } from '../wire/wire-exchange.ts';
import { converseHttp2, listener, measure } from './testing/conversation.ts';

/** Grants this much beside what every request takes. */
const memoryOf = (bytes: number, overdraft = Number.POSITIVE_INFINITY) =>
  new ScriptedMemory(requestOverheadBytes + bytes, overdraft);

const windows = (lines: readonly string[]) => lines.filter((line) => line.includes('window'));

describe('the memory of a request over HTTP/2', () => {
  test('a stream that has to wait gets no window update, and continues when there is room', () => {
    const memory = memoryOf(40_000);
    const limits = { streamWindowBytes: 65_535, connectionWindowBytes: 65_535 };
    const { receive, said } = converseHttp2(measure, limits, { memory });
    receive(headers(1, postFields, false));
    receive(data(1, Buffer.alloc(16_000), false), data(1, Buffer.alloc(16_000), false));
    said();
    receive(data(1, Buffer.alloc(16_000), false), data(1, Buffer.alloc(16_000), false));
    expect(windows(said())).toEqual([]);
    memory.letGo();
    expect(windows(said())).toEqual(['0 window 48000', '1 window 48000']);
    receive(data(1, 'x', true));
    memory.letGo();
    expect(said()).toContain('1 headers :status=200 x-bytes=64001 end');
    expect(memory.usedBytes).toBe(0);
  });

  test('a stream that waits longer than memoryWaitMsMax is refused with its own error', () => {
    const memory = memoryOf(10);
    const frugal: WireHandler = (exchange) => {
      exchange.listener = {
        ...listener(() => {}),
        onRefused: () => exchange.answer(429, [], undefined, undefined, undefined),
      };
      exchange.resume();
    };
    const { receive, said, host } = converseHttp2(frugal, { memoryWaitMsMax: 3000 }, { memory });
    receive(headers(1, postFields, false), data(1, 'x'.repeat(100), false));
    host.pass(2000);
    expect(said().join()).not.toContain('429');
    host.pass(3000);
    expect(said()).toContain('1 headers :status=429 end');
    expect(memory.usedBytes).toBe(0);
  });

  test('a stream for which there is no memory at all is refused before its request is read', () => {
    let served = 0;
    const memory = new ScriptedMemory(requestOverheadBytes, 0);
    const { receive, said } = converseHttp2(
      () => {
        served++;
      },
      {},
      { memory },
    );
    receive(headers(1, getFields, true), headers(3, getFields, true));
    expect(said()).toContain(`3 reset ${errorCode.refusedStream}`);
    expect([served, memory.usedBytes]).toEqual([1, requestOverheadBytes]);
  });

  test('answers count until they were written to the kernel', () => {
    const memory = memoryOf(1e6);
    const answers: WireExchange[] = [];
    const { receive, said, transport, connection } = converseHttp2(
      (exchange) => answers.push(exchange),
      {},
      { memory },
    );
    receive(headers(1, getFields, true));
    transport.isStuck = true;
    answers[0]?.answer(200, [], Buffer.alloc(30_000), undefined, undefined);
    said();
    expect(memory.usedBytes).toBe(30_000);
    transport.unstick();
    connection.onWritable();
    said();
    expect(memory.usedBytes).toBe(0);
  });

  const endings: readonly [
    by: string,
    end: (talk: ReturnType<typeof converseHttp2>, exchange: WireExchange) => void,
  ][] = [
    ['the client resets its stream', ({ receive }) => receive(reset(1))],
    ['the server aborts it', (_talk, exchange) => exchange.abort()],
    ['the client breaks the protocol', ({ receive }) => receive(headers(2, getFields, true))],
    ['the client sends no more', ({ connection }) => connection.receiveEnd()],
  ];
  for (const [by, end] of endings) {
    test(`an answer of which a part waits for the kernel keeps its memory until that part is sent, when ${by}`, () => {
      const released: string[] = [];
      const exchanges: WireExchange[] = [];
      const talk = converseHttp2((exchange) => exchanges.push(exchange));
      const { receive, said, transport } = talk;
      receive(headers(1, getFields, true), headers(3, getFields, true));
      transport.isStuck = true;
      const [whole, streamed] = exchanges as [WireExchange, WireExchange];
      // Both are longer than their windows.
      whole.answer(200, [], [Buffer.alloc(20_000), Buffer.alloc(80_000)], undefined, () => released.push('whole'));
      streamed.start(200, []);
      streamed.write(Buffer.alloc(40_000));
      streamed.write(Buffer.alloc(80_000), () => released.push('second piece'));
      streamed.whenSent(() => released.push('streamed'));
      said();
      expect(transport.pendingBytes).toBeGreaterThan(65_000);
      end(talk, whole);
      end(talk, streamed);
      said();
      expect(released).toEqual([]);
      transport.unstick();
      said();
      expect(released).toContain('whole');
    });
  }

  test('what of an aborted answer waits for the kernel is counted until it is sent', () => {
    const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
    const exchanges: WireExchange[] = [];
    const { receive, said, transport } = converseHttp2((exchange) => exchanges.push(exchange), {}, { memory });
    receive(headers(1, getFields, true));
    transport.isStuck = true;
    exchanges[0]?.answer(200, [], Buffer.alloc(80_000), undefined, undefined);
    said();
    exchanges[0]?.abort();
    said();
    expect(memory.usedBytes).toBe(80_000);
    transport.unstick();
    expect(memory.usedBytes).toBe(0);
  });

  test('what follows a streamed body waits for the kernel to have all of it', () => {
    const { receive, said, transport } = converseHttp2((exchange) => {
      exchange.start(200, []);
      exchange.write(Buffer.alloc(5_000));
      exchange.write(Buffer.alloc(100));
      exchange.end();
      exchange.whenSent(() => released++);
    });
    let released = 0;
    transport.isStuck = true;
    receive(headers(1, getFields, true));
    said();
    expect([released, transport.pendingBytes > 5_000]).toEqual([0, true]);
    transport.unstick();
    expect(released).toBe(1);
  });

  test('an answer of which nothing was sent is released at once by a reset', () => {
    let released = 0;
    const { receive, said, transport } = converseHttp2((exchange) =>
      exchange.answer(200, [], Buffer.alloc(80_000), undefined, () => released++),
    );
    // The first answer uses up the window of the connection.
    receive(headers(1, getFields, true));
    said();
    receive(headers(3, getFields, true));
    said();
    transport.isStuck = true;
    receive(reset(3));
    expect(released).toBe(1);
  });

  test('a body without a declared length must bring bodyBytesPerSecondMin too, once it is awaited whole', () => {
    const awaited: WireHandler = (exchange) => {
      exchange.isBodyDue = true;
      measure(exchange);
    };
    const { receive, said, host } = converseHttp2(awaited, { bodyStallMsMax: 3000, bodyBytesPerSecondMin: 100 });
    receive(headers(1, postFields, false), data(1, 'x', false));
    host.pass(7000);
    expect(said()).toContain(`1 reset ${errorCode.cancel}`);
  });

  test('a request with an owner of its own takes the memory of that owner', () => {
    const memory = memoryOf(100);
    const ownerOf = () => 'tenant';
    const { receive } = converseHttp2(measure, {}, { memory, ownerOf });
    receive(headers(1, getFields, true));
    expect(memory.owners).toEqual(['192.0.2.1', 'tenant']);
  });
});

test('a few requests of one chunk are started per turn, and all are answered', async () => {
  const answer: WireHandler = (exchange) => exchange.answer(204, [], undefined, undefined, undefined);
  const { receive, said, host, transport } = converseHttp2(answer);
  host.requestsPerTurn = 3;
  const later = vi.spyOn(inputTurns, 'goOnLater');
  receive(...[1, 3, 5, 7, 9].map((id) => headers(id, getFields, true)));
  expect(said()).toHaveLength(3);
  expect(transport.isPaused).toBe(true);
  receive(headers(11, getFields, true));
  await new Promise(setImmediate);
  expect(said()).toHaveLength(3);
  expect(transport.isPaused).toBe(false);
  // As a read of its owner.
  expect(later.mock.calls.map(([owner]) => owner)).toEqual([transport.peer.owner]);
  later.mockRestore();
});

test('a head counts by the size of its fields', () => {
  const memory = memoryOf(1e6);
  const { receive } = converseHttp2((exchange) => exchange.resume(), {}, { memory });
  receive(headers(1, [...getFields, ['x-long', 'y'.repeat(5000)]], true));
  expect(memory.usedBytes).toBe(requestOverheadBytes + 32 + 6 + 5000);
});

test('a body that arrives after the answer is discarded, and leaves nothing held', () => {
  const memory = memoryOf(1e6);
  const { receive, said, transport, connection } = converseHttp2(
    (exchange) => exchange.answer(200, [], Buffer.alloc(100_000), undefined, undefined),
    {},
    { memory },
  );
  transport.isStuck = true;
  receive(headers(1, postFields, false), data(1, 'x'.repeat(5000), false));
  said();
  transport.unstick();
  connection.onClosed();
  expect(memory.usedBytes).toBe(0);
});
