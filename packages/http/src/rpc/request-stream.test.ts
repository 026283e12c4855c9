import { expect, test } from 'vitest';
import { RequestStream } from './request-stream.ts';
import { RpcError } from './rpc-error.ts';

function make(waitingMessagesMax = 2, waitingBytesMax = 100): { stream: RequestStream<string>; flow: string[] } {
  const flow: string[] = [];
  const stream = new RequestStream<string>(
    { pauseRequests: () => flow.push('pause'), resumeRequests: () => flow.push('resume'), give: () => {} },
    { waitingMessagesMax, waitingBytesMax },
  );
  return { stream, flow };
}

test('iteration gives every message in order and ends with the caller', async () => {
  const { stream } = make();
  stream.accept('a', 1);
  const seen: string[] = [];
  const reading = (async () => {
    for await (const message of stream) seen.push(message);
  })();
  stream.accept('b', 1);
  await Promise.resolve();
  stream.accept('c', 1);
  stream.acceptEnd();
  await reading;
  expect(seen).toEqual(['a', 'b', 'c']);
});

test('the caller is paused at the limit of waiting messages, and resumed when they are read', async () => {
  const { stream, flow } = make(2);
  stream.accept('a', 1);
  expect(flow).toEqual([]);
  stream.accept('b', 1);
  expect(flow).toEqual(['pause']);
  const messages = stream[Symbol.asyncIterator]();
  await messages.next();
  expect(flow).toEqual(['pause']);
  await messages.next();
  expect(flow).toEqual(['pause', 'resume']);
});

test('a few large messages pause the caller too', async () => {
  const { stream, flow } = make(10, 100);
  stream.accept('a', 60);
  expect(flow).toEqual([]);
  stream.accept('b', 60);
  expect(flow).toEqual(['pause']);
  const messages = stream[Symbol.asyncIterator]();
  await messages.next();
  await messages.next();
  stream.accept('c', 60);
  expect(flow).toEqual(['pause', 'resume']);
});

test('a call that ends before its messages do makes iteration throw', async () => {
  const { stream } = make();
  const next = stream[Symbol.asyncIterator]().next();
  stream.acceptError(new RpcError('canceled', 'gone'));
  await expect(next).rejects.toMatchObject({ code: 'canceled' });
  await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'canceled' });
});

test('when a reader stops early, the rest is discarded', async () => {
  const { stream, flow } = make(1);
  stream.accept('a', 1);
  stream.accept('b', 1);
  for await (const message of stream) {
    expect(message).toBe('a');
    break;
  }
  stream.accept('c', 1);
  stream.acceptEnd();
  expect(flow.at(-1)).toBe('resume');
  expect(await stream[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
});

test('a listener gets what waits, then what comes, and may pause in between', () => {
  const { stream, flow } = make();
  stream.accept('a', 1);
  const seen: string[] = [];
  stream.listen({
    onMessage: (message) => {
      seen.push(message);
      if (message === 'b') stream.pause();
    },
    onEnd: () => seen.push('end'),
  });
  stream.accept('b', 1);
  stream.accept('c', 1);
  stream.acceptEnd();
  expect(seen).toEqual(['a', 'b']);
  expect(flow).toContain('pause');
  stream.resume();
  expect(seen).toEqual(['a', 'b', 'c', 'end']);
});
