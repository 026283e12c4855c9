import { expect, test } from 'vitest';
import { RpcError } from './rpc-error.ts';
import type { Interceptor } from './service.ts';
import { envelopedText } from './testing/exchange-double.ts';
import { openCall } from './testing/open-call.ts';

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
  openCall({ unary: (request) => `${heard.push('handled')}${request}` }, {}, options).send(envelopedText('x'));
  expect(heard).toEqual([
    'a test.Echo/Unary grpc 127.0.0.1',
    'b test.Echo/Unary grpc 127.0.0.1',
    'handled',
    'a ended ok',
    'b ended ok',
  ]);
});

test('an interceptor may refuse, throw, or continue later', () => {
  const handled: string[] = [];
  const handlers = { unary: (request: string) => `${handled.push(request)}` };
  const refuse: Interceptor = (call) => call.fail(new RpcError('unauthenticated', 'who are you?'));
  expect(
    openCall(handlers, {}, { interceptors: [refuse] })
      .send(envelopedText('a'))
      .header('grpc-status'),
  ).toBe('16');
  const thrower: Interceptor = () => {
    throw new RpcError('permission_denied', 'no');
  };
  expect(
    openCall(handlers, {}, { interceptors: [thrower] })
      .send(envelopedText('a'))
      .header('grpc-status'),
  ).toBe('7');
  let letGo = (): void => {};
  const later: Interceptor = (_, next) => {
    letGo = next;
  };
  const exchange = openCall(handlers, {}, { interceptors: [later] }).send(envelopedText('late'));
  expect([handled, exchange.wantedTimes]).toEqual([[], 0]);
  letGo();
  expect([handled, exchange.isDone]).toEqual([['late'], true]);
  const gone = openCall(handlers, {}, { interceptors: [later] }).send(envelopedText('gone'));
  gone.acceptAbort('reset');
  letGo();
  expect([handled, gone.isDone]).toEqual([['late'], true]);
});
