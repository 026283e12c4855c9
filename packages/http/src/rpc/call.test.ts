/** The life of a call: answers, errors, deadlines, callers that go away, interceptors. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import { createRpcHandler, type RpcHandlerOptions } from './handler.ts';
import { RpcError } from './rpc-error.ts';
import type { Interceptor, StreamCall } from './service.ts';
import { CallKeeper, type EchoHandlers, echoService } from './testing/echo-service.ts';
import { type DoubleRequest, ExchangeDouble, enveloped } from './testing/exchange-double.ts';

const grpc = [['content-type', 'application/grpc']] as const;

function open(handlers: EchoHandlers, request: DoubleRequest = {}, options: RpcHandlerOptions = {}): ExchangeDouble {
  const exchange = new ExchangeDouble({ headers: grpc, ...request });
  createRpcHandler([echoService(handlers)], options)(exchange);
  return exchange;
}

const stream = { path: '/test.Echo/ServerStream' };

afterEach(() => {
  vi.useRealTimers();
});

test('an answer may come as a promise or by the call, and its memory is given back', async () => {
  const promised = open({ unary: async (request) => `${request}?` }).send(enveloped('a'));
  await promised.whenDone();
  expect(promised.envelopes()[0]?.message.toString()).toBe('a?');
  let released = 0;
  const called = open({
    unary: (request, call) => {
      queueMicrotask(() => call.answer(request, () => released++));
      return undefined;
    },
  }).send(enveloped('b'));
  await called.whenDone();
  expect([called.envelopes()[0]?.message.toString(), released]).toEqual(['b', 1]);
});

test('metadata goes before and after the messages', () => {
  const exchange = open(
    {
      unary: (request, call) => {
        call.leading.add('x-first', call.metadata.get('x-asked') ?? '');
        call.trailing.add('x-last-bin', Uint8Array.of(1, 2));
        return request;
      },
    },
    { headers: [...grpc, ['x-asked', 'yes']] },
  ).send(enveloped('a'));
  expect(exchange.header('x-first')).toBe('yes');
  expect(exchange.trailer('x-last-bin')).toBe('AQI');
});

test('an error is told in the head where nothing was sent before it', () => {
  const exchange = open({
    unary: () => {
      throw new RpcError('not_found', 'no such thing: ü');
    },
  }).send(enveloped('a'));
  expect([exchange.status, exchange.header('grpc-status'), exchange.header('grpc-message')]).toEqual([
    200,
    '5',
    'no such thing: %C3%BC',
  ]);
  expect([exchange.body.length, exchange.answerTrailers]).toEqual([0, undefined]);
});

test('leading metadata of a failed call stays apart from its trailing metadata', () => {
  const exchange = open({
    unary: (_, call) => {
      call.leading.add('x-first', '1');
      call.trailing.add('x-last', '2');
      throw new RpcError('aborted', '');
    },
  }).send(enveloped('a'));
  expect([exchange.header('x-first'), exchange.header('x-last'), exchange.header('grpc-status')]).toEqual([
    '1',
    undefined,
    undefined,
  ]);
  expect([exchange.trailer('grpc-status'), exchange.trailer('x-last'), exchange.trailer('grpc-message')]).toEqual([
    '10',
    '2',
    undefined,
  ]);
});

test('what is no RpcError is told to nobody but the operator', async () => {
  const heard: unknown[] = [];
  const secret = new Error('the password is 1234');
  const exchange = open({ unary: () => Promise.reject(secret) }, {}, { onError: (error) => heard.push(error) });
  exchange.send(enveloped('a'));
  await exchange.whenDone();
  expect(exchange.header('grpc-status')).toBe('13');
  expect(exchange.header('grpc-message')).not.toContain('1234');
  expect(heard).toEqual([secret]);
});

test.each([
  [[], 'sent none'],
  [[enveloped('a'), enveloped('b')], 'sent more'],
])('a unary call needs exactly one message', (body, words) => {
  const exchange = open({}).send(...body);
  expect(exchange.header('grpc-status')).toBe('12');
  expect(exchange.header('grpc-message')).toContain(words);
});

test('a message that its codec refuses is the caller’s fault', () => {
  const exchange = open({}, { headers: [['content-type', 'application/grpc+json']] }).send(enveloped('{'));
  expect(exchange.header('grpc-status')).toBe('3');
});

test('messages above the limits are resource_exhausted, both ways', () => {
  const received = open({}, {}, { receiveBytesMax: 3 }).send(enveloped('four'));
  expect(received.header('grpc-status')).toBe('8');
  const sent = open({}, {}, { sendBytesMax: 3 }).send(enveloped('four'));
  expect(sent.header('grpc-status')).toBe('8');
  const connect = open({}, { headers: [['content-type', 'application/proto']] }, { receiveBytesMax: 3 });
  expect(connect.send(Buffer.from('four')).status).toBe(429);
});

test('calls whose messages never end cannot fill the memory together', () => {
  const handler = createRpcHandler([echoService()], { arrivingBytesMax: 10 });
  const begin = (headers: DoubleRequest['headers'], body: Uint8Array): ExchangeDouble => {
    const exchange = new ExchangeDouble({ headers: headers ?? grpc });
    handler(exchange);
    exchange.acceptData(body);
    return exchange;
  };
  const connect = [['content-type', 'application/proto']] as const;
  const first = begin(grpc, enveloped('123456').subarray(0, 8));
  expect(begin(grpc, enveloped('123456').subarray(0, 8)).header('grpc-status')).toBe('8');
  expect(begin(connect, Buffer.from('12345')).status).toBe(429);
  first.acceptAbort('reset');
  const second = begin(connect, Buffer.from('12345'));
  second.send(Buffer.from('67890'));
  expect([second.status, second.body.toString()]).toEqual([200, '1234567890']);
  expect(begin(grpc, enveloped('123456').subarray(0, 8)).isDone).toBe(false);
});

test('unary calls that never end hold their complete messages within the same bound', () => {
  const handler = createRpcHandler([echoService()], { arrivingBytesMax: 10 });
  const begin = (): ExchangeDouble => {
    const exchange = new ExchangeDouble({ headers: grpc });
    handler(exchange);
    exchange.acceptData(enveloped('123456'));
    return exchange;
  };
  const first = begin();
  expect(begin().header('grpc-status')).toBe('8');
  first.acceptAbort('reset');
  const second = begin();
  second.send();
  expect(second.envelopes()[0]?.message.toString()).toBe('123456');
  expect(begin().isDone).toBe(false);
});

test('whoever asks after the end hears of it at once', () => {
  const keeper = new CallKeeper();
  open({ unary: keeper.keep }).send(enveloped('a'));
  keeper.unaryCall.fail(new RpcError('aborted', 'x'));
  const heard: unknown[] = [];
  keeper.unaryCall.whenEnded((error) => heard.push(error?.code));
  expect(heard).toEqual(['aborted']);
});

test.each([
  ['grpc-timeout', '1x', grpc],
  ['connect-timeout-ms', 'soon', [['content-type', 'application/proto']] as const],
])('a %s that cannot be read is refused', (name, value, headers) => {
  const exchange = open({}, { headers: [...headers, [name, value]] }).send(enveloped('a'));
  expect([exchange.header('grpc-status') ?? exchange.status]).toEqual([headers === grpc ? '3' : 400]);
});

test('a deadline ends the call and fires the signal, and a late answer is dropped', () => {
  vi.useFakeTimers();
  const keeper = new CallKeeper();
  const exchange = open({ unary: keeper.keep }, { headers: [...grpc, ['grpc-timeout', '50m']] });
  exchange.send(enveloped('a'));
  const reasons: string[] = [];
  keeper.unaryCall.signal.onCancel((reason) => reasons.push(reason));
  expect(keeper.unaryCall.timeoutMs).toBe(50);
  vi.advanceTimersByTime(100);
  expect([exchange.header('grpc-status'), reasons]).toEqual(['4', ['deadline-exceeded']]);
  let released = 0;
  keeper.unaryCall.answer('late', () => released++);
  expect([exchange.envelopes(), released]).toEqual([[], 1]);
});

test('a deadline that was met leaves no timer behind', () => {
  vi.useFakeTimers();
  const exchange = open({}, { headers: [...grpc, ['grpc-timeout', '10S']] }).send(enveloped('a'));
  expect(exchange.trailer('grpc-status')).toBe('0');
  vi.advanceTimersByTime(50);
  expect(vi.getTimerCount()).toBe(0);
});

test('a caller that goes away fires the signal; the exchange is given up when the handler is done', () => {
  const keeper = new CallKeeper();
  const exchange = open({ unary: keeper.keep }).send(enveloped('a'));
  const heard: unknown[] = [];
  keeper.unaryCall.whenEnded((error) => heard.push(error?.code));
  keeper.unaryCall.signal.onCancel((reason) => heard.push(reason));
  exchange.acceptAbort('reset');
  expect(heard).toEqual(['canceled', 'cancelled']);
  expect(exchange.isDone).toBe(false);
  keeper.unaryCall.fail(new RpcError('internal', 'x'));
  expect([exchange.isDone, exchange.status]).toEqual([true, 0]);
});

test('a signal that is asked for late has fired already', () => {
  const keeper = new CallKeeper();
  const exchange = open({ unary: keeper.keep }).send(enveloped('a'));
  exchange.acceptAbort('reset');
  expect(keeper.unaryCall.signal.reason).toBe('cancelled');
});

test('a caller that goes away before its message was complete costs no handler', () => {
  let calls = 0;
  const exchange = open({ unary: (request) => `${request}${calls++}` });
  exchange.acceptData(enveloped('abc').subarray(0, 6));
  exchange.acceptAbort('reset');
  expect([calls, exchange.isDone]).toEqual([0, true]);
});

test('a compressed call is answered compressed, where that pays', () => {
  const headers = [...grpc, ['grpc-encoding', 'gzip'], ['grpc-accept-encoding', 'identity,gzip']] as const;
  const long = 'a'.repeat(1000);
  const packed = open({}, { headers }).send(enveloped(gzipSync(long), 1));
  expect(packed.header('grpc-encoding')).toBe('gzip');
  const [answer] = packed.envelopes();
  expect([answer?.flags, gunzipSync(answer?.message ?? '').toString()]).toEqual([1, long]);
  const short = open({}, { headers }).send(enveloped('tiny'));
  expect(short.envelopes()[0]).toEqual({ flags: 0, message: Buffer.from('tiny') });
  const plain = open({}, { headers: [...grpc, ['grpc-accept-encoding', 'gzip']] }).send(enveloped(long));
  expect(plain.header('grpc-encoding')).toBeUndefined();
  const eager = open({}, { headers: [...grpc, ['grpc-accept-encoding', 'gzip']] }, { compression: 'when-accepted' });
  expect(eager.send(enveloped(long)).envelopes()[0]?.flags).toBe(1);
});

test('a compression that is not offered is unimplemented, and the offered ones are named', () => {
  const exchange = open({}, { headers: [...grpc, ['grpc-encoding', 'zstd']] }).send(enveloped('a'));
  expect([exchange.header('grpc-status'), exchange.header('grpc-accept-encoding')]).toEqual([
    '12',
    'gzip,deflate,identity',
  ]);
});

test('a message flagged as compressed without a compression is an error of the protocol', () => {
  expect(open({}).send(enveloped('a', 1)).header('grpc-status')).toBe('13');
});

test('messages decompressed off the event loop keep their order', async () => {
  const path = '/test.Echo/ClientStream';
  const headers = [...grpc, ['grpc-encoding', 'gzip']] as const;
  const exchange = open({}, { path, headers }, { decompressSyncBytesMax: 0 });
  const letters = [...'streaming'];
  exchange.send(
    Buffer.concat(letters.map((letter, at) => (at % 2 ? enveloped(letter) : enveloped(gzipSync(letter), 1)))),
  );
  await exchange.whenDone();
  expect(exchange.envelopes()[0]?.message.toString()).toBe('streaming');
});

test('a bidirectional call answers while its caller still sends', async () => {
  const exchange = open({}, { path: '/test.Echo/Bidi' });
  exchange.acceptData(enveloped('a'));
  await vi.waitFor(() => expect(exchange.envelopes().map(({ message }) => message.toString())).toEqual(['a!']));
  exchange.send(enveloped('b'));
  await exchange.whenDone();
  expect(exchange.envelopes()[1]?.message.toString()).toBe('b!');
  expect(exchange.trailer('grpc-status')).toBe('0');
});

test('an iterable is asked for no more than the caller takes', async () => {
  let made = 0;
  async function* count(): AsyncGenerator<string> {
    for (;;) yield String(made++);
  }
  const exchange = open({ serverStream: () => count() }, stream);
  exchange.roomForWrites = 4;
  exchange.send(enveloped(''));
  await vi.waitFor(() => expect(exchange.envelopes()).toHaveLength(2));
  await new Promise((resolve) => setImmediate(resolve));
  expect(made).toBe(2);
  exchange.roomForWrites = 4;
  exchange.listener?.onDrain();
  await vi.waitFor(() => expect(made).toBe(4));
  exchange.acceptAbort('reset');
});

test('an iterable is told when the caller has gone', async () => {
  let isReturned = false;
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) yield 'x';
    } finally {
      isReturned = true;
    }
  }
  const exchange = open({ serverStream: () => endless() }, stream);
  exchange.roomForWrites = 2;
  exchange.send(enveloped(''));
  await vi.waitFor(() => expect(exchange.envelopes()).toHaveLength(1));
  exchange.acceptAbort('reset');
  await exchange.whenDone();
  expect(isReturned).toBe(true);
});

test('a stream that fails later says so after what was sent', async () => {
  async function* failing(): AsyncGenerator<string> {
    yield 'one';
    throw new RpcError('data_loss', 'broken');
  }
  const exchange = open({ serverStream: () => failing() }, stream).send(enveloped(''));
  await exchange.whenDone();
  expect(exchange.envelopes()).toHaveLength(1);
  expect([exchange.trailer('grpc-status'), exchange.trailer('grpc-message')]).toEqual(['15', 'broken']);
});

test('a stream by plain calls sends its head when told, and hears of room', () => {
  let call: StreamCall<string> | undefined;
  const exchange = open(
    {
      serverStream: (_, given) => {
        call = given;
        given.leading.add('x-early', '1');
        given.start();
        return undefined;
      },
    },
    stream,
  ).send(enveloped(''));
  expect([exchange.isStarted, exchange.header('x-early')]).toEqual([true, '1']);
  exchange.roomForWrites = 1;
  let rooms = 0;
  expect(call?.send('a')).toBe(false);
  if (call !== undefined) call.onRoom = () => rooms++;
  exchange.listener?.onDrain();
  call?.end();
  call?.end();
  expect([rooms, exchange.trailer('grpc-status'), call?.send('late')]).toEqual([1, '0', true]);
});

test('interceptors run in order around a call, before its messages are read', () => {
  const heard: string[] = [];
  const named = (name: string): Interceptor => {
    return (call, next) => {
      heard.push(`${name} ${call.service}/${call.method} ${call.protocol} ${call.peer.address}`);
      call.whenEnded((error) => heard.push(`${name} ended ${error?.code ?? 'ok'}`));
      next();
      next();
    };
  };
  const options = { interceptors: [named('a'), named('b')] };
  open({ unary: (request) => `${heard.push('handled')}${request}` }, {}, options).send(enveloped('x'));
  expect(heard).toEqual([
    'a test.Echo/Unary grpc 127.0.0.1',
    'b test.Echo/Unary grpc 127.0.0.1',
    'handled',
    'a ended ok',
    'b ended ok',
  ]);
});

test('an interceptor may refuse, throw, or let go later', () => {
  const handled: string[] = [];
  const handlers = { unary: (request: string) => `${handled.push(request)}` };
  const refuse: Interceptor = (call) => call.fail(new RpcError('unauthenticated', 'who are you?'));
  expect(
    open(handlers, {}, { interceptors: [refuse] })
      .send(enveloped('a'))
      .header('grpc-status'),
  ).toBe('16');
  const thrower: Interceptor = () => {
    throw new RpcError('permission_denied', 'no');
  };
  expect(
    open(handlers, {}, { interceptors: [thrower] })
      .send(enveloped('a'))
      .header('grpc-status'),
  ).toBe('7');
  let letGo = (): void => {};
  const later: Interceptor = (_, next) => {
    letGo = next;
  };
  const exchange = open(handlers, {}, { interceptors: [later] }).send(enveloped('late'));
  expect([handled, exchange.wantedTimes]).toEqual([[], 0]);
  letGo();
  expect([handled, exchange.isDone]).toEqual([['late'], true]);
  const gone = open(handlers, {}, { interceptors: [later] }).send(enveloped('gone'));
  gone.acceptAbort('reset');
  letGo();
  expect([handled, gone.isDone]).toEqual([['late'], true]);
});

test('an error of Connect has its HTTP status and its JSON', () => {
  const exchange = open(
    {
      unary: (_, call) => {
        call.trailing.add('x-last', 'z');
        throw new RpcError('not_found', 'gone', [{ type: 'a.B', value: Uint8Array.of(1) }]);
      },
    },
    { headers: [['content-type', 'application/proto']] },
  ).send(Buffer.from('a'));
  expect([exchange.status, exchange.header('content-type'), exchange.header('trailer-x-last')]).toEqual([
    404,
    'application/json',
    'z',
  ]);
  expect(JSON.parse(exchange.body.toString())).toEqual({
    code: 'not_found',
    message: 'gone',
    details: [{ type: 'a.B', value: 'AQ' }],
  });
});

test('a version of Connect that is not ours is refused', () => {
  const headers = [
    ['content-type', 'application/proto'],
    ['connect-protocol-version', '2'],
  ] as const;
  expect(open({}, { headers }).send(Buffer.from('a')).status).toBe(400);
});
