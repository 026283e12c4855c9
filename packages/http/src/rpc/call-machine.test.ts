/** The life cycle of a call: answers, errors, deadlines, callers that disconnect. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import { noFields } from '../wire/field-list.ts';
import { ScriptedMemory } from '../wire/testing/scripted-memory.ts';
import { requestOverheadBytes } from '../wire/wire-exchange.ts';
import { base64BytesMax } from './grpc-web-dialect.ts';
import { createRpcHandler, type RpcHandlerOptions } from './handler.ts';
import { RpcError } from './rpc-error.ts';
import { CallKeeper, echoService } from './testing/echo-service.ts';
import { type DoubleRequest, ExchangeDouble, envelopedText } from './testing/exchange-double.ts';
import { grpc, openCall } from './testing/open-call.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('an answer may come as a promise or by the call, and its memory is released', async () => {
  const promised = openCall({ unary: async (request) => `${request}?` }).send(envelopedText('a'));
  await promised.whenDone();
  expect(promised.envelopes()[0]?.message.toString()).toBe('a?');
  let released = 0;
  const called = openCall({
    unary: (request, call) => {
      queueMicrotask(() => call.answer(request, () => released++));
      return undefined;
    },
  }).send(envelopedText('b'));
  await called.whenDone();
  expect([called.envelopes()[0]?.message.toString(), released]).toEqual(['b', 1]);
});

test('metadata goes before and after the messages', () => {
  const exchange = openCall(
    {
      unary: (request, call) => {
        call.leading.add('x-first', call.metadata.get('x-asked') ?? '');
        call.trailing.add('x-last-bin', Uint8Array.of(1, 2));
        return request;
      },
    },
    { headers: [...grpc, ['x-asked', 'yes']] },
  ).send(envelopedText('a'));
  expect(exchange.header('x-first')).toBe('yes');
  expect(exchange.trailer('x-last-bin')).toBe('AQI');
});

test('an error is sent in the head if nothing was sent before it', () => {
  const exchange = openCall({
    unary: () => {
      throw new RpcError('not_found', 'no such thing: ü');
    },
  }).send(envelopedText('a'));
  expect([exchange.status, exchange.header('grpc-status'), exchange.header('grpc-message')]).toEqual([
    200,
    '5',
    'no such thing: %C3%BC',
  ]);
  expect([exchange.body.length, exchange.answerTrailers]).toEqual([0, undefined]);
});

test('leading metadata of a failed call stays apart from its trailing metadata', () => {
  const exchange = openCall({
    unary: (_, call) => {
      call.leading.add('x-first', '1');
      call.trailing.add('x-last', '2');
      throw new RpcError('aborted', '');
    },
  }).send(envelopedText('a'));
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

test('an error that is not an RpcError is reported to the operator only', async () => {
  const heard: unknown[] = [];
  const secret = new Error('the password is 1234');
  const exchange = openCall({ unary: () => Promise.reject(secret) }, {}, { onError: (error) => heard.push(error) });
  exchange.send(envelopedText('a'));
  await exchange.whenDone();
  expect(exchange.header('grpc-status')).toBe('13');
  expect(exchange.header('grpc-message')).not.toContain('1234');
  expect(heard).toEqual([secret]);
});

test.each([
  [[], 'sent none'],
  [[envelopedText('a'), envelopedText('b')], 'sent more'],
])('a unary call needs exactly one message', (body, text) => {
  const exchange = openCall({}).send(...body);
  expect(exchange.header('grpc-status')).toBe('12');
  expect(exchange.header('grpc-message')).toContain(text);
});

test('a message that its codec refuses is the caller’s fault', () => {
  const exchange = openCall({}, { headers: [['content-type', 'application/grpc+json']] }).send(envelopedText('{'));
  expect(exchange.header('grpc-status')).toBe('3');
});

test.each([
  ['a message that cannot be read', 'application/grpc+json', '{', 'invalid_argument'],
  ['a message that is too large', 'application/grpc', 'four', 'resource_exhausted'],
  ['a compression that is unknown', 'application/grpc', 'a', 'unimplemented'],
])('%s is reported to onRefused once', (what, contentType, message, code) => {
  const refused: string[] = [];
  const options: RpcHandlerOptions = {
    receiveBytesMax: 3,
    onRefused: ({ service, method }, error) => refused.push(`${service}/${method} ${error.code}`),
  };
  const encoding = what.includes('compression') ? [['grpc-encoding', 'lzw'] as const] : [];
  openCall({}, { headers: [['content-type', contentType], ...encoding] }, options).send(envelopedText(message));
  expect(refused).toEqual([`test.Echo/Unary ${code}`]);
});

test('a caller that disconnects while sending is counted as refused; one whose handler runs is not', () => {
  const refused: string[] = [];
  const options: RpcHandlerOptions = { onRefused: (_, error) => refused.push(error.code) };
  openCall({}, {}, options).acceptAbort('reset');
  expect(refused).toEqual(['canceled']);
  openCall({ unary: () => undefined }, {}, options)
    .send(envelopedText('a'))
    .acceptAbort('reset');
  openCall({ unary: () => Promise.reject(new Error('x')) }, {}, { ...options, onError: () => {} }).send(
    envelopedText('a'),
  );
  expect(refused).toEqual(['canceled']);
});

test('messages above the limits are resource_exhausted, both ways', () => {
  const received = openCall({}, {}, { receiveBytesMax: 3 }).send(envelopedText('four'));
  expect(received.header('grpc-status')).toBe('8');
  const sent = openCall({}, {}, { sendBytesMax: 3 }).send(envelopedText('four'));
  expect(sent.header('grpc-status')).toBe('8');
  const connect = openCall({}, { headers: [['content-type', 'application/proto']] }, { receiveBytesMax: 3 });
  expect(connect.send(Buffer.from('four')).status).toBe(429);
});

test('an answer that is too large for base64 is refused for base64 only', () => {
  const large = 'x'.repeat(base64BytesMax + 1);
  const answered = (type: string) => {
    const headers: DoubleRequest['headers'] = [['content-type', type]];
    const body = envelopedText('a');
    const isText = type.includes('text');
    const sent = isText ? Buffer.from(body.toString('base64'), 'latin1') : body;
    return openCall({ unary: () => large }, { headers }).send(sent);
  };
  const text = Buffer.from(answered('application/grpc-web-text').body.toString('latin1'), 'base64').toString('latin1');
  expect(text).toContain('grpc-status: 8');
  expect(answered('application/grpc-web').body.length).toBeGreaterThan(base64BytesMax);
});

/** What a request takes before its body comes. */
function overheadOf(headers: NonNullable<DoubleRequest['headers']>): number {
  return headers.reduce((bytes, [name, value]) => bytes + 32 + name.length + value.length, requestOverheadBytes);
}

test('a call without memory for its message is refused, and releases what it held', () => {
  const handler = createRpcHandler([echoService()]);
  for (const headers of [grpc, [['content-type', 'application/proto']]] as NonNullable<DoubleRequest['headers']>[]) {
    const memory = new ScriptedMemory(overheadOf(headers) + 10, 0);
    const exchange = new ExchangeDouble({ headers }, memory);
    handler(exchange);
    exchange.acceptData(Buffer.alloc(11));
    expect(exchange.isDone).toBe(true);
    expect(exchange.header('grpc-status') ?? String(exchange.status)).toBe(headers === grpc ? '8' : '429');
  }
});

test('a call that has to wait for memory continues with its whole message', () => {
  const handler = createRpcHandler([echoService()]);
  const memory = new ScriptedMemory(overheadOf(grpc) + 8);
  const exchange = new ExchangeDouble({ headers: grpc }, memory);
  handler(exchange);
  const body = envelopedText('0123456789');
  exchange.acceptData(body.subarray(0, 7));
  exchange.acceptData(body.subarray(7, 12));
  exchange.acceptData(body.subarray(12));
  exchange.acceptEnd(noFields);
  expect([exchange.isStarved, exchange.isDone, exchange.queuedBytes]).toEqual([true, false, 8]);
  memory.letGo();
  expect(exchange.envelopes()[0]?.message.toString()).toBe('0123456789');
});

test('whenEnded after the end calls back at once', () => {
  const keeper = new CallKeeper();
  openCall({ unary: keeper.keep }).send(envelopedText('a'));
  keeper.unaryCall.fail(new RpcError('aborted', 'x'));
  const heard: unknown[] = [];
  keeper.unaryCall.whenEnded((error) => heard.push(error?.code));
  expect(heard).toEqual(['aborted']);
});

test.each([
  ['grpc-timeout', '1x', grpc],
  ['connect-timeout-ms', 'soon', [['content-type', 'application/proto']] as const],
])('a %s that cannot be read is refused', (name, value, headers) => {
  const exchange = openCall({}, { headers: [...headers, [name, value]] }).send(envelopedText('a'));
  expect([exchange.header('grpc-status') ?? exchange.status]).toEqual([headers === grpc ? '3' : 400]);
});

test('a deadline ends the call and fires the signal, and a late answer is dropped', () => {
  vi.useFakeTimers();
  const keeper = new CallKeeper();
  const exchange = openCall({ unary: keeper.keep }, { headers: [...grpc, ['grpc-timeout', '50m']] });
  exchange.send(envelopedText('a'));
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
  const exchange = openCall({}, { headers: [...grpc, ['grpc-timeout', '10S']] }).send(envelopedText('a'));
  expect(exchange.trailer('grpc-status')).toBe('0');
  vi.advanceTimersByTime(50);
  expect(vi.getTimerCount()).toBe(0);
});

test('a caller that disconnects fires the signal; the exchange is released when the handler has finished', () => {
  const keeper = new CallKeeper();
  const exchange = openCall({ unary: keeper.keep }).send(envelopedText('a'));
  const heard: unknown[] = [];
  keeper.unaryCall.whenEnded((error) => heard.push(error?.code));
  keeper.unaryCall.signal.onCancel((reason) => heard.push(reason));
  exchange.acceptAbort('reset');
  expect(heard).toEqual(['canceled', 'cancelled']);
  expect(exchange.isDone).toBe(false);
  keeper.unaryCall.fail(new RpcError('internal', 'x'));
  expect([exchange.isDone, exchange.status]).toEqual([true, 0]);
});

test('a signal that is first read after the end has fired already', () => {
  const keeper = new CallKeeper();
  const exchange = openCall({ unary: keeper.keep }).send(envelopedText('a'));
  exchange.acceptAbort('reset');
  expect(keeper.unaryCall.signal.reason).toBe('cancelled');
});

test('a caller that disconnects before its message is complete starts no handler', () => {
  let calls = 0;
  const exchange = openCall({ unary: (request) => `${request}${calls++}` });
  exchange.acceptData(envelopedText('abc').subarray(0, 6));
  exchange.acceptAbort('reset');
  expect([calls, exchange.isDone]).toEqual([0, true]);
});

test('a compressed call is answered compressed, where that is worth it', () => {
  const headers = [...grpc, ['grpc-encoding', 'gzip'], ['grpc-accept-encoding', 'identity,gzip']] as const;
  const long = 'a'.repeat(1000);
  const packed = openCall({}, { headers }).send(envelopedText(gzipSync(long), 1));
  expect(packed.header('grpc-encoding')).toBe('gzip');
  const [answer] = packed.envelopes();
  expect([answer?.flags, gunzipSync(answer?.message ?? '').toString()]).toEqual([1, long]);
  const short = openCall({}, { headers }).send(envelopedText('tiny'));
  expect(short.envelopes()[0]).toEqual({ flags: 0, message: Buffer.from('tiny') });
  const plain = openCall({}, { headers: [...grpc, ['grpc-accept-encoding', 'gzip']] }).send(envelopedText(long));
  expect(plain.header('grpc-encoding')).toBeUndefined();
  const eager = openCall(
    {},
    { headers: [...grpc, ['grpc-accept-encoding', 'gzip']] },
    { compression: 'when-accepted' },
  );
  expect(eager.send(envelopedText(long)).envelopes()[0]?.flags).toBe(1);
});

test('an unsupported compression is unimplemented, and the supported ones are listed', () => {
  const exchange = openCall({}, { headers: [...grpc, ['grpc-encoding', 'zstd']] }).send(envelopedText('a'));
  expect([exchange.header('grpc-status'), exchange.header('grpc-accept-encoding')]).toEqual([
    '12',
    'gzip,deflate,identity',
  ]);
});

test('a message flagged as compressed without a compression is an error of the protocol', () => {
  expect(openCall({}).send(envelopedText('a', 1)).header('grpc-status')).toBe('13');
});

test('an error of Connect has its HTTP status and its JSON', () => {
  const exchange = openCall(
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

test('an unsupported version of Connect is refused', () => {
  const headers = [
    ['content-type', 'application/proto'],
    ['connect-protocol-version', '2'],
  ] as const;
  expect(openCall({}, { headers }).send(Buffer.from('a')).status).toBe(400);
});
