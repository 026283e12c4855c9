/** Which requests become calls, of which protocol, and how the others are answered. */
import { expect, test } from 'vitest';
import { createRpcHandler, type RpcHandlerOptions } from './handler.ts';
import { echoService } from './testing/echo-service.ts';
import { type DoubleRequest, ExchangeDouble, envelopedText } from './testing/exchange-double.ts';

function serve(
  request: DoubleRequest,
  options: RpcHandlerOptions = {},
  ...body: readonly Uint8Array[]
): ExchangeDouble {
  const exchange = new ExchangeDouble(request);
  createRpcHandler([echoService()], options)(exchange);
  return exchange.send(...body);
}

const type = (contentType: string) => [['content-type', contentType]] as const;

test.each(['application/grpc', 'application/grpc+proto', 'application/grpc+proto; charset=utf-8'])(
  'gRPC as %s is answered at once, in the same turn',
  (contentType) => {
    const exchange = serve({ headers: type(contentType) }, {}, envelopedText('hello'));
    expect(exchange.isDone).toBe(true);
    expect(exchange.status).toBe(200);
    expect(exchange.header('content-type')).toBe(contentType.split(';')[0]);
    expect(exchange.envelopes()).toEqual([{ flags: 0, message: Buffer.from('hello') }]);
    expect(exchange.answerTrailers).toEqual([['grpc-status', '0']]);
  },
);

test('gRPC with JSON messages', () => {
  const exchange = serve({ headers: type('application/grpc+json') }, {}, envelopedText('"hello"'));
  expect(exchange.envelopes()[0]?.message.toString()).toBe('"hello"');
});

test('gRPC-Web has its status in the body', () => {
  const exchange = serve({ headers: type('application/grpc-web+proto') }, {}, envelopedText('hello'));
  const [message, status] = exchange.envelopes();
  expect(message).toEqual({ flags: 0, message: Buffer.from('hello') });
  expect(status).toEqual({ flags: 128, message: Buffer.from('grpc-status: 0\r\n') });
  expect(exchange.answerTrailers).toBeUndefined();
});

test('gRPC-Web as text is base64 both ways', () => {
  const body = Buffer.from(envelopedText('hello').toString('base64'));
  const exchange = serve({ headers: type('application/grpc-web-text') }, {}, body.subarray(0, 5), body.subarray(5));
  expect(exchange.header('content-type')).toBe('application/grpc-web-text+proto');
  const plain = Buffer.from(exchange.body.toString('latin1'), 'base64');
  expect(plain.subarray(0, 10)).toEqual(envelopedText('hello'));
});

test.each([
  ['application/proto', 'hello'],
  ['application/json', '"hello"'],
])('a unary call of Connect as %s is a plain exchange', (contentType, body) => {
  const exchange = serve({ headers: type(contentType) }, {}, Buffer.from(body));
  expect([exchange.status, exchange.header('content-type')]).toEqual([200, contentType]);
  expect(exchange.body.toString()).toBe(body);
});

test('a stream of Connect ends with a message of its own', async () => {
  const request = { path: '/test.Echo/ServerStream', headers: type('application/connect+json') };
  const exchange = serve(request, {}, envelopedText('"ab"'));
  await exchange.whenDone();
  expect(exchange.envelopes().map(({ flags, message }) => [flags, message.toString()])).toEqual([
    [0, '"a"'],
    [0, '"b"'],
    [2, '{}'],
  ]);
});

test.each([
  ['connect=v1&encoding=json&message=%22hello%22', '"hello"'],
  [`connect=v1&encoding=proto&base64=1&message=${Buffer.from('hello').toString('base64url')}`, 'hello'],
  ['encoding=proto&message=hello', 'hello'],
])('Connect by GET: %s', (query, body) => {
  const exchange = serve({ method: 'GET', query });
  expect([exchange.status, exchange.body.toString()]).toEqual([200, body]);
});

test.each([
  ['connect=v2&encoding=json&message=x', 400],
  ['connect=v1&encoding=json', 400],
  ['connect=v1&encoding=xml&message=x', 415],
  ['connect=v1&encoding=json&message=%22x%22&compression=br', 501],
  ['connect=v1&encoding=json&message=nonsense', 400],
])('a GET with the query %s is refused with %i', (query, status) => {
  expect(serve({ method: 'GET', query }).status).toBe(status);
});

test('methods of other kinds, and other HTTP methods, are refused with what is allowed', () => {
  const stream = serve({ method: 'GET', path: '/test.Echo/Bidi' });
  expect([stream.status, stream.header('allow')]).toEqual([405, 'POST']);
  const put = serve({ method: 'PUT' });
  expect([put.status, put.header('allow')]).toEqual([405, 'GET, POST']);
});

test.each(['application/xml', '', 'application/connect+proto', 'application/grpc+xml', 'application/connect+xml'])(
  'a known method posted as %j is refused with 415',
  (contentType) => {
    const exchange = serve({ headers: type(contentType) });
    expect(exchange.status).toBe(415);
    expect(exchange.header('accept-post')).toContain('application/grpc');
  },
);

test('a unary content type of Connect does not reach a streaming method', () => {
  expect(serve({ path: '/test.Echo/Bidi', headers: type('application/json') }).status).toBe(415);
});

test('an unknown method is unimplemented for gRPC, and left to the fallback otherwise', () => {
  const path = '/test.Echo/Other';
  const grpc = serve({ path, headers: type('application/grpc') });
  expect([grpc.status, grpc.header('grpc-status')]).toEqual([200, '12']);
  const web = serve({ path, headers: type('application/grpc-web') });
  expect(web.envelopes()[0]?.message.toString()).toContain('grpc-status: 12');
  const passed: string[] = [];
  const next = (exchange: { path: string; answer: ExchangeDouble['answer'] }): void => {
    passed.push(exchange.path);
    exchange.answer(404, [], undefined, undefined, undefined);
  };
  for (const contentType of ['application/json', 'application/connect+json', 'text/plain']) {
    serve({ path, headers: type(contentType) }, { next });
  }
  serve({ path: '/', method: 'GET' }, { next });
  expect(passed).toEqual([path, path, path, '/']);
  expect(serve({ path: '/', method: 'GET' }).status).toBe(404);
});

test('a method given twice is an error', () => {
  expect(() => createRpcHandler([echoService(), echoService()])).toThrow('/test.Echo/Unary is given twice');
});

test('a preflight of an allowed origin is answered, of another one not', () => {
  const ask = (origin: string) =>
    serve(
      {
        method: 'OPTIONS',
        headers: [
          ['origin', origin],
          ['access-control-request-method', 'POST'],
          ['access-control-request-headers', 'content-type,x-key'],
        ],
      },
      { cors: { origins: ['https://a.example'] } },
    );
  const allowed = ask('https://a.example');
  expect(allowed.status).toBe(204);
  expect(allowed.header('access-control-allow-origin')).toBe('https://a.example');
  expect(allowed.header('access-control-allow-headers')).toBe('content-type,x-key');
  expect(allowed.header('access-control-allow-methods')).toBe('GET, POST');
  expect(ask('https://b.example').header('access-control-allow-origin')).toBeUndefined();
});

test('a page may read what the protocols put into headers, and the metadata', () => {
  const headers = [...type('application/json'), ['origin', 'https://a.example']] as const;
  const exchange = new ExchangeDouble({ headers });
  const service = echoService({
    unary: (request, call) => {
      call.leading.add('x-mine', '1');
      call.trailing.add('x-last', '2');
      return request;
    },
  });
  createRpcHandler([service], { cors: { origins: '*' } })(exchange);
  exchange.send(Buffer.from('"x"'));
  expect(exchange.header('access-control-allow-origin')).toBe('*');
  expect(exchange.header('access-control-expose-headers')).toBe(
    'grpc-status,grpc-message,grpc-status-details-bin,content-type,trailer-x-last,x-mine',
  );
});

test('without CORS a preflight is an ordinary wrong method', () => {
  const headers = [
    ['origin', 'https://a.example'],
    ['access-control-request-method', 'POST'],
  ] as const;
  expect(serve({ method: 'OPTIONS', headers }).status).toBe(405);
});
