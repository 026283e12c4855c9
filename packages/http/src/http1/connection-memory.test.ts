import { describe, expect, test, vi } from 'vitest';
import { inputTurns } from '../wire/input-turns.ts';
import { ScriptedMemory } from '../wire/testing/scripted-memory.ts';
import { requestOverheadBytes, type WireExchange, type WireHandler } from '../wire/wire-exchange.ts';
import { converseHttp1, echo, get, post } from './testing/conversation.ts';

/** Grants this much beside what every request takes, and as much again to one that waits. */
const memoryOf = (bytes: number, overdraft = Number.POSITIVE_INFINITY) =>
  new ScriptedMemory(requestOverheadBytes + headBytes + bytes, overdraft);
/** Of the fields that these requests have: `host: x` and `content-length: 20`. */
const headBytes = 32 + 5 + 32 + 16;

/** As `echo`, and answers 429 where there is no memory. */
const frugalEcho: WireHandler = (exchange) => {
  echo(exchange);
  const { listener } = exchange;
  if (listener !== undefined) {
    listener.onRefused = () => exchange.answer(429, [], Buffer.from('no memory'), undefined, undefined);
  }
};

/** Never answers. */
const unanswered: WireHandler = (exchange) => {
  exchange.listener = {
    onData: () => {},
    onEnd: () => {},
    onAbort: () => exchange.end(),
    onDrain: () => {},
    onRefused: () => {},
  };
};

describe('the memory of a request over HTTP/1.1', () => {
  test('a body that has to wait is not read, and continues when there is room', () => {
    const memory = memoryOf(10);
    const { receive, said, transport } = converseHttp1(echo, {}, undefined, { memory });
    receive(post('Content-Length: 20\r\n'));
    receive('0123456789');
    expect(transport.isPaused).toBe(false);
    receive('abcdefghij');
    expect([transport.isPaused, memory.waitingCount, said()]).toEqual([true, 1, '']);
    memory.letGo();
    expect(transport.isPaused).toBe(false);
    expect(said()).toContain('0123456789abcdefghij');
    expect(memory.usedBytes).toBe(0);
  });

  test('one that waits longer than memoryWaitMsMax is refused, and its time does not count as the client’s', () => {
    const memory = memoryOf(10);
    const { receive, said, host } = converseHttp1(
      frugalEcho,
      { memoryWaitMsMax: 5000, bodyStallMsMax: 1000 },
      undefined,
      {
        memory,
      },
    );
    receive(post('Content-Length: 40\r\n'));
    receive('0123456789abcdefghij');
    host.pass(4000);
    expect(said()).toBe('');
    host.pass(3000);
    expect(said()).toContain('429');
    expect(memory.usedBytes).toBe(0);
  });

  test('one that sends more than it may while it waits is refused at once', () => {
    const memory = memoryOf(10, 5);
    const { receive, said } = converseHttp1(frugalEcho, {}, undefined, { memory });
    receive(post('Content-Length: 40\r\n'));
    receive('0123456789abcdefghij');
    expect(said()).toContain('429');
    expect(memory.usedBytes).toBe(0);
  });

  test('an answer counts until the kernel has it, then nothing is held', () => {
    const memory = memoryOf(1e6);
    let exchange: WireExchange | undefined;
    const { receive, said, transport, connection } = converseHttp1(
      (opened) => {
        exchange = opened;
      },
      {},
      undefined,
      { memory },
    );
    transport.isStuck = true;
    receive(post('Content-Length: 0\r\n'));
    exchange?.answer(200, [], Buffer.alloc(50_000), undefined, undefined);
    said();
    expect(memory.usedBytes).toBe(50_000);
    transport.unstick();
    connection.onWritable();
    expect(memory.usedBytes).toBe(0);
  });

  test('what follows a streamed body waits for the kernel to have all of it, also where the connection ends behind it', () => {
    for (const option of ['keep-alive', 'close']) {
      let released = 0;
      const { receive, said, transport } = converseHttp1((exchange) => {
        exchange.start(200, []);
        exchange.write(Buffer.alloc(5_000));
        exchange.end();
        exchange.whenSent(() => released++);
      });
      transport.isStuck = true;
      receive(get('/', `Connection: ${option}\r\n`));
      said();
      expect([released, transport.pendingBytes > 5_000, transport.isEnded]).toEqual([0, true, option === 'close']);
      transport.unstick();
      expect(released).toBe(1);
    }
  });

  test('framing bytes do not count as progress of a body', () => {
    const { receive, said, host } = converseHttp1(echo, { bodyStallMsMax: 5000, bodyBytesPerSecondMin: 100 });
    receive(post('Transfer-Encoding: chunked\r\n'));
    for (let second = 0; second < 7; second++) {
      receive(`1;${'x'.repeat(200)}\r\ny\r\n`);
      host.pass(1000);
    }
    expect(said()).toContain('408 Request Timeout');
  });

  test('what is pipelined behind a request is counted until its turn comes', () => {
    const memory = memoryOf(1e6);
    const waiting: WireExchange[] = [];
    const { receive } = converseHttp1((exchange) => waiting.push(exchange), {}, undefined, { memory });
    receive(get('/1'));
    const ofOneRequest = memory.usedBytes;
    receive(get('/2').repeat(10));
    receive(get('/2').repeat(10));
    expect(memory.usedBytes).toBe(ofOneRequest + 20 * get('/2').length);
    waiting[0]?.answer(200, [], undefined, undefined, undefined);
    expect(memory.usedBytes).toBe(ofOneRequest + 19 * get('/2').length);
    for (let at = 1; at <= 20; at++) waiting[at]?.answer(200, [], undefined, undefined, undefined);
    expect([waiting.length, memory.usedBytes]).toEqual([21, 0]);
  });

  test('pipelined bytes no longer count when the connection is closed', () => {
    const memory = memoryOf(1e6);
    const { receive, connection } = converseHttp1(unanswered, {}, undefined, { memory });
    receive(get('/1'));
    const ofOneRequest = memory.usedBytes;
    receive(get('/2').repeat(10));
    expect(memory.usedBytes).toBe(ofOneRequest + 10 * get('/2').length);
    connection.onClosed();
    expect(memory.usedBytes).toBe(0);
  });

  test('the memory of a connection is closed with it', () => {
    const memory = memoryOf(10);
    const { connection } = converseHttp1(echo, {}, undefined, { memory });
    connection.onClosed();
    expect([memory.owners, memory.closedConnections]).toEqual([['192.0.2.1'], 1]);
  });
});

test('an answer before the end of the connection is read as slowly as any other', () => {
  const answer: WireHandler = (exchange) => exchange.answer(200, [], Buffer.alloc(500_000), undefined, undefined);
  const { receive, said, host, transport } = converseHttp1(answer, { responseStallMsMax: 60_000 });
  transport.isStuck = true;
  receive('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  said();
  for (let second = 0; second < 20; second++) {
    transport.takeSome(20_000);
    host.pass(1000);
  }
  expect(transport.isDestroyed).toBe(false);
  transport.pendingBytes = 0;
  host.pass(5000);
  expect(transport.isDestroyed).toBe(true);
});

test('a few pipelined requests are started per turn, and all are answered', async () => {
  const answer: WireHandler = (exchange) => exchange.answer(200, [], Buffer.from('ok'), undefined, undefined);
  const { receive, said, host, transport } = converseHttp1(answer);
  host.requestsPerTurn = 3;
  const later = vi.spyOn(inputTurns, 'goOnLater');
  receive('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(8));
  expect(said().match(/200 OK/g)).toHaveLength(3);
  await new Promise(setImmediate);
  expect(said().match(/200 OK/g)).toHaveLength(3);
  await new Promise(setImmediate);
  expect(said().match(/200 OK/g)).toHaveLength(2);
  // As reads of their owner.
  expect(later.mock.calls.map(([owner]) => owner)).toEqual([transport.peer.owner, transport.peer.owner]);
  later.mockRestore();
});
