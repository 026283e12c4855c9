import { Cancellation } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { type ContractCall, type ContractReply, describeExchange } from '../exchange-contract.ts';
import { ExchangeAborted, inject, injectStreaming } from './inject.ts';

describeExchange('an injected call', (handler, onError) => {
  const requestFrom = (call: ContractCall, signal: Cancellation) => {
    call.hangUp?.onCancel((reason) => signal.cancel(reason));
    return {
      target: call.target,
      signal,
      onError,
      ...(call.method === undefined ? {} : { method: call.method }),
      ...(call.headers === undefined ? {} : { headers: call.headers }),
      ...(call.body === undefined ? {} : { body: call.body }),
      ...(call.trailers === undefined ? {} : { trailers: call.trailers }),
    };
  };
  return Promise.resolve({
    call: async (call): Promise<ContractReply> => {
      const reply = await inject(handler, requestFrom(call, new Cancellation()));
      return { ...reply, headers: new Map(reply.headers.entries()), trailers: new Map(reply.trailers.entries()) };
    },
    callSlowly: async (call) => {
      const signal = new Cancellation();
      const stream = await injectStreaming(handler, requestFrom(call, signal));
      const iterator = stream.body[Symbol.asyncIterator]();
      return {
        status: stream.status,
        readAll: async () => {
          const pieces: Uint8Array[] = [];
          for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
            pieces.push(step.value);
          }
          return Buffer.concat(pieces);
        },
        hangUp: () => {
          // A client that saw the head was reading; one piece is in transit when it disconnects.
          void iterator.next().then(
            () => iterator.next().catch(() => {}),
            () => {},
          );
          signal.cancel('cancelled');
        },
      };
    },
    close: () => Promise.resolve(),
  });
});

test.each([
  ['bytes', () => new TextEncoder().encode('answer')],
  // Its `slice` is a view.
  ['a Buffer', () => Buffer.from('answer')],
])('the caller keeps its own copy of a body in %s whose memory is used again after the release', async (_, make) => {
  const memory = make();
  const reply = await inject(() => ({ status: 200, headers: [], body: [memory], release: () => memory.fill(0) }), {
    target: '/',
  });
  expect(reply.text()).toBe('answer');
});

test('a call that is cancelled before it begins never yields an answer', async () => {
  const signal = new Cancellation();
  signal.cancel('cancelled');
  await expect(inject(() => ({ status: 200, headers: [] }), { target: '/', signal })).rejects.toBeInstanceOf(
    ExchangeAborted,
  );
});
