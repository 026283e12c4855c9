/** Compressed answers of calls: at once, off the event loop, and left as they are. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { RpcHandlerOptions } from './handler.ts';
import type { EchoHandlers } from './testing/echo-service.ts';
import { type ExchangeDouble, envelopedText } from './testing/exchange-double.ts';
import { grpc, openCall } from './testing/open-call.ts';

const limits: RpcHandlerOptions = { compressBytesMin: 10, compressSyncBytesMax: 1000, compressBytesMax: 100_000 };
const headers = [...grpc, ['grpc-encoding', 'gzip']] as const;

/** A call that was asked with gzip and is answered with so many bytes. */
function asked(bytes: number, handlers: EchoHandlers = {}, path = '/test.Echo/Unary'): ExchangeDouble {
  const answer = 'a'.repeat(bytes);
  const request = { headers, path };
  return openCall({ unary: () => answer, ...handlers }, request, limits).send(envelopedText(gzipSync('q'), 1));
}

function plainOf(exchange: ExchangeDouble): string {
  const [envelope] = exchange.envelopes();
  expect(envelope?.flags).toBe(1);
  return gunzipSync(envelope?.message as Buffer).toString();
}

test('an answer up to compressSyncBytesMax is compressed at once', () => {
  const exchange = asked(1000);
  expect(exchange.isDone).toBe(true);
  expect(plainOf(exchange)).toBe('a'.repeat(1000));
});

test('a larger one is compressed off the event loop, and its memory is given back when it is', async () => {
  let released = 0;
  const exchange = asked(0, {
    unary: (_, call) => {
      call.answer('a'.repeat(1001), () => {
        released += 1;
      });
      return undefined;
    },
  });
  expect([exchange.isDone, exchange.isStarted, released]).toEqual([false, false, 0]);
  await exchange.whenDone();
  expect(plainOf(exchange)).toBe('a'.repeat(1001));
  expect([exchange.trailer('grpc-status'), released]).toEqual(['0', 1]);
});

test('a second answer while the first is compressed is dropped', async () => {
  const released: string[] = [];
  const exchange = asked(0, {
    unary: (_, call) => {
      call.answer('a'.repeat(2000), () => released.push('first'));
      call.answer('b', () => released.push('second'));
      return undefined;
    },
  });
  expect(released).toEqual(['second']);
  await exchange.whenDone();
  expect(plainOf(exchange)).toBe('a'.repeat(2000));
  expect(exchange.envelopes()).toHaveLength(1);
});

test('one over compressBytesMax is sent uncompressed', () => {
  const exchange = asked(100_001);
  expect(exchange.envelopes()[0]).toMatchObject({ flags: 0 });
  expect(exchange.isDone).toBe(true);
});

test('a message of a stream over compressSyncBytesMax is sent uncompressed, in order', async () => {
  const texts = ['b'.repeat(1000), 'a'.repeat(1001), 'c'.repeat(1000)];
  const serverStream = async function* (): AsyncGenerator<string> {
    yield* texts;
  };
  const exchange = asked(0, { serverStream }, '/test.Echo/ServerStream');
  await exchange.whenDone();
  const envelopes = exchange.envelopes();
  expect(envelopes.map(({ flags }) => flags)).toEqual([1, 0, 1]);
  expect(envelopes[1]?.message.toString()).toBe(texts[1]);
});

test('compression ends when its caller disconnects', async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const exchange = asked(0, {
    unary: (_, call) => {
      call.answer('a'.repeat(50_000), release);
      return undefined;
    },
  });
  exchange.acceptAbort('the client closed the connection');
  await released;
  expect([exchange.isDone, exchange.pieces.length]).toEqual([true, 0]);
});
