/** Whatever is sent, a call ends: with an answer or a refusal, never with an exception, never by hanging. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRpcHandler } from './handler.ts';
import { echoService } from './testing/echo-service.ts';
import { ExchangeDouble, envelopedText } from './testing/exchange-double.ts';

const paths = ['Unary', 'ServerStream', 'ClientStream', 'Bidi', 'Nothing', ''].map((name) => `/test.Echo/${name}`);
const contentTypes = [
  'application/grpc',
  'application/grpc+json',
  'application/grpc+xml',
  'application/grpc-web',
  'application/grpc-web-text',
  'application/connect+json',
  'application/connect+proto',
  'application/json',
  'application/proto; charset=utf-8',
  'text/plain',
  '',
];
const header = fc.oneof(
  fc.tuple(
    fc.constantFrom('grpc-encoding', 'content-encoding', 'connect-content-encoding'),
    fc.constantFrom('gzip', 'deflate', 'br', 'identity', ''),
  ),
  fc.tuple(fc.constantFrom('grpc-accept-encoding', 'accept-encoding'), fc.constantFrom('gzip', 'gzip;q=0', '*', ',,;')),
  fc.tuple(fc.constantFrom('grpc-timeout', 'connect-timeout-ms'), fc.constantFrom('10S', '5000', 'x', '-1', '')),
  fc.tuple(fc.constant('connect-protocol-version'), fc.constantFrom('1', '2', '')),
  fc.tuple(fc.constant('origin'), fc.constantFrom('https://a.example', 'null', '')),
  fc.tuple(fc.constant('x-bin'), fc.string({ maxLength: 10 })),
);
const piece = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.tuple(fc.uint8Array({ maxLength: 20 }), fc.nat(255)).map(([bytes, flags]) => envelopedText(bytes as never, flags)),
  fc.string({ maxLength: 12 }).map((text) => envelopedText(JSON.stringify(text))),
  fc.base64String({ maxLength: 40 }).map((text) => Buffer.from(text)),
);
const request = fc.record({
  method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'OPTIONS', 'PUT'),
  path: fc.constantFrom(...paths),
  query: fc.constantFrom(
    '',
    'encoding=json&message=%22a%22',
    'encoding=proto&message=a&base64=1',
    'encoding=json&message=%',
    'message=&compression=gzip&encoding=proto',
  ),
  contentType: fc.constantFrom(...contentTypes),
  headers: fc.array(header, { maxLength: 4 }),
  body: fc.array(piece, { maxLength: 4 }),
  isAborted: fc.boolean(),
});

test('hostile calls end', async () => {
  const unexpected: unknown[] = [];
  const handler = createRpcHandler([echoService()], {
    receiveBytesMax: 60,
    decompressSyncBytesMax: 12,
    cors: { origins: ['https://a.example'] },
    onError: (error) => unexpected.push(error),
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, query, contentType, headers, body, isAborted }) => {
      const exchange = new ExchangeDouble({
        method,
        path,
        query,
        headers: [['content-type', contentType], ...headers],
      });
      handler(exchange);
      for (const bytes of body) if (!exchange.isDone) exchange.acceptData(bytes);
      if (isAborted) exchange.acceptAbort('reset');
      else if (!exchange.isDone) exchange.send();
      await exchange.whenDone();
      if (!isAborted) expect(exchange.status).toBeGreaterThanOrEqual(200);
    }),
    { seed: 8, numRuns: 3000 },
  );
  expect(unexpected).toEqual([]);
});
