/** Calls of many messages: order, back-pressure, endings. */
import { gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { createRpcHandler } from './handler.ts';
import { RpcError } from './rpc-error.ts';
import { bidi, type StreamCall } from './service.ts';
import { textCodec } from './testing/echo-service.ts';
import { ExchangeDouble, envelopedText } from './testing/exchange-double.ts';
import { grpc, openCall } from './testing/open-call.ts';

const stream = { path: '/test.Echo/ServerStream' };

test('messages decompressed off the event loop keep their order', async () => {
  const path = '/test.Echo/ClientStream';
  const headers = [...grpc, ['grpc-encoding', 'gzip']] as const;
  const exchange = openCall({}, { path, headers }, { decompressSyncBytesMax: 0 });
  const letters = [...'streaming'];
  exchange.send(
    Buffer.concat(letters.map((letter, at) => (at % 2 ? envelopedText(letter) : envelopedText(gzipSync(letter), 1)))),
  );
  await exchange.whenDone();
  expect(exchange.envelopes()[0]?.message.toString()).toBe('streaming');
});

test('a bidirectional call answers while its caller still sends', async () => {
  const exchange = openCall({}, { path: '/test.Echo/Bidi' });
  exchange.acceptData(envelopedText('a'));
  await vi.waitFor(() => expect(exchange.envelopes().map(({ message }) => message.toString())).toEqual(['a!']));
  exchange.send(envelopedText('b'));
  await exchange.whenDone();
  expect(exchange.envelopes()[1]?.message.toString()).toBe('b!');
  expect(exchange.trailer('grpc-status')).toBe('0');
});

test.each(['application/grpc', 'application/grpc-web', 'application/grpc-web-text', 'application/connect+proto'])(
  'the end of an empty body is delivered by plain calls (%s)',
  (type) => {
    const exchange = new ExchangeDouble({ path: '/test.Echo/Bidi', headers: [['content-type', type]] }).send();
    let isHeard = false;
    const method = bidi<string, string>({
      name: 'Bidi',
      request: textCodec,
      response: textCodec,
      handle: (requests, call) => {
        requests.listen({
          onMessage: () => {},
          onEnd: () => {
            isHeard = true;
            call.end();
          },
        });
        return undefined;
      },
    });
    createRpcHandler([{ name: 'test.Echo', methods: [method] }])(exchange);
    expect([isHeard, exchange.isDone]).toEqual([true, true]);
  },
);

test.each(['application/grpc', 'application/grpc-web-text', 'application/connect+proto'])(
  'messages that arrive while the handler takes none stay undecoded, and come in order, the end last (%s)',
  (type) => {
    const texts = Array.from({ length: 1000 }, (_, index) => String(index));
    const body = Buffer.concat(texts.map((text) => envelopedText(text)));
    const sent = type === 'application/grpc-web-text' ? Buffer.from(body.toString('base64')) : body;
    const exchange = new ExchangeDouble({ path: '/test.Echo/Bidi', headers: [['content-type', type]] }).send(sent);
    const decode = vi.fn(textCodec.fromProto);
    const heard: string[] = [];
    let resume = (): void => {};
    const method = bidi<string, string>({
      name: 'Bidi',
      request: { ...textCodec, fromProto: decode },
      response: textCodec,
      handle: (requests, call) => {
        resume = () => requests.resume();
        requests.listen({
          onMessage: (text) => {
            heard.push(text);
            if (heard.length % 100 === 1) requests.pause();
          },
          onEnd: () => {
            heard.push('end');
            call.end();
          },
        });
        return undefined;
      },
    });
    createRpcHandler([{ name: 'test.Echo', methods: [method] }])(exchange);
    expect([heard.length, decode.mock.calls.length]).toEqual([1, 1]);
    for (let rounds = 1; rounds < 10; rounds++) {
      resume();
      expect([heard.length, decode.mock.calls.length]).toEqual([100 * rounds + 1, 100 * rounds + 1]);
    }
    resume();
    expect(heard).toEqual([...texts, 'end']);
  },
);

test('an iterable is read no faster than the caller reads', async () => {
  let made = 0;
  async function* count(): AsyncGenerator<string> {
    for (;;) yield String(made++);
  }
  const exchange = openCall({ serverStream: () => count() }, stream);
  exchange.roomForWrites = 2;
  exchange.send(envelopedText(''));
  await vi.waitFor(() => expect(exchange.envelopes()).toHaveLength(2));
  await new Promise((resolve) => setImmediate(resolve));
  expect(made).toBe(2);
  exchange.roomForWrites = 2;
  exchange.listener?.onDrain();
  await vi.waitFor(() => expect(made).toBe(4));
  exchange.acceptAbort('reset');
});

test('an iterable is ended when the caller has disconnected', async () => {
  let isReturned = false;
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) yield 'x';
    } finally {
      isReturned = true;
    }
  }
  const exchange = openCall({ serverStream: () => endless() }, stream);
  exchange.roomForWrites = 1;
  exchange.send(envelopedText(''));
  await vi.waitFor(() => expect(exchange.envelopes()).toHaveLength(1));
  exchange.acceptAbort('reset');
  await exchange.whenDone();
  expect(isReturned).toBe(true);
});

test('a stream that fails later sends its error after its messages', async () => {
  async function* failing(): AsyncGenerator<string> {
    yield 'one';
    throw new RpcError('data_loss', 'broken');
  }
  const exchange = openCall({ serverStream: () => failing() }, stream).send(envelopedText(''));
  await exchange.whenDone();
  expect(exchange.envelopes()).toHaveLength(1);
  expect([exchange.trailer('grpc-status'), exchange.trailer('grpc-message')]).toEqual(['15', 'broken']);
});

test('a stream by plain calls sends its head when told, and onRoom is called', () => {
  let call: StreamCall<string> | undefined;
  const exchange = openCall(
    {
      serverStream: (_, given) => {
        call = given;
        given.leading.add('x-early', '1');
        given.start();
        return undefined;
      },
    },
    stream,
  ).send(envelopedText(''));
  expect([exchange.isStarted, exchange.header('x-early')]).toEqual([true, '1']);
  exchange.roomForWrites = 1;
  let roomCalls = 0;
  expect(call?.send('a')).toBe(false);
  if (call !== undefined) call.onRoom = () => roomCalls++;
  exchange.listener?.onDrain();
  call?.end();
  call?.end();
  expect([roomCalls, exchange.trailer('grpc-status'), call?.send('late')]).toEqual([1, '0', true]);
});
