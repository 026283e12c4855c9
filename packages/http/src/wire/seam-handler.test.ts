import { expect, test } from 'vitest';
import { converseHttp1, get, post } from '../http1/testing/conversation.ts';
import { wireHandlerFrom } from './seam-handler.ts';

const fail = (error: unknown) => {
  throw error;
};

test('a handler that returns a value is answered before the read that brought the request is over', () => {
  const handler = wireHandlerFrom(({ path }) => ({ status: 200, headers: [], body: Buffer.from(path) }), fail);
  const { receive, transport } = converseHttp1(handler);
  receive(get('/now'));
  expect(transport.take().toString()).toMatch(/\r\n\r\n\/now$/);
});

test('a body that is read late, or never, is asked of the client when it is read', async () => {
  let read: (() => Promise<Uint8Array>) | undefined;
  const handler = wireHandlerFrom(async ({ body }) => {
    await new Promise<void>((resolve) => {
      read = () => {
        resolve();
        return body.readAll(10);
      };
    });
    return { status: 200, headers: [] };
  }, fail);
  const { receive, said } = converseHttp1(handler);
  receive(post('Content-Length: 3\r\n', 'Expect: 100-continue\r\n'));
  expect(said()).toBe('');
  const body = read?.();
  expect(said()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  receive('abc');
  expect(Buffer.from((await body) as Uint8Array).toString()).toBe('abc');
});

test('a body taken by pieces holds the client to the pace of its reader', async () => {
  const pieces: AsyncIterator<Uint8Array>[] = [];
  const handler = wireHandlerFrom(({ body }) => {
    pieces.push(body[Symbol.asyncIterator]());
    return new Promise(() => {});
  }, fail);
  const { receive, transport } = converseHttp1(handler, { streamWindowBytes: 65_535 });
  receive(post('Content-Length: 200000\r\n'));
  const next = async () => ((await pieces[0]?.next())?.value as Uint8Array | undefined)?.length;
  const first = next();
  receive('x'.repeat(100));
  expect(await first).toBe(100);
  receive('y'.repeat(65_535));
  expect(transport.isPaused).toBe(true);
  expect(await next()).toBe(65_535);
  const more = next();
  expect(transport.isPaused).toBe(false);
  receive('z');
  expect(await more).toBe(1);
});
