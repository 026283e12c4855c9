/** Streams of a client over connections of the test: hooks of the program that throw, and a client that is closed. */
import { afterEach, expect, test, vi } from 'vitest';
import type { ClientOptions } from '../client.ts';
import { unreachable } from '../errors/millrace-error.ts';
import { createClient } from '../index.ts';
import type { LinkListener, LinkTransport } from '../transports/transport.ts';
import { StreamServerDouble } from './testing/stream-server-double.ts';

afterEach(() => vi.unstubAllGlobals());

/** A client, and its server; `cut` loses the present connection. */
function setup(options: ClientOptions = {}) {
  const server = new StreamServerDouble({ messages: 8, bytes: 1000 });
  let present: LinkListener | undefined;
  const links: LinkTransport = {
    connect(open, _context, listener) {
      present = listener;
      const attached = Promise.resolve().then(() => server.attach(open, (frame) => listener.onFrame(frame)));
      return {
        send: (frame) => void attached.then((link) => server.receive(link, frame)),
        ping: undefined,
        close: () => void attached.then((link) => server.detach(link)),
      };
    },
    close: () => {},
  };
  const client = createClient('http://server', {
    ...options,
    transport: ({ href }) => ({ url: href, calls: { close: () => {} } as never, links }),
  });
  return { client, server, cut: () => present?.onClose(unreachable('the link was cut', true)) };
}

function uncaughtErrors(): (() => void)[] {
  const thrown: (() => void)[] = [];
  vi.stubGlobal('queueMicrotask', (callback: () => void) => thrown.push(callback));
  return thrown;
}

test('hooks that throw change nothing of the stream, and their errors are not lost', async () => {
  const thrown = uncaughtErrors();
  const fail = (): never => {
    throw new Error('of the hook');
  };
  const { client, server, cut } = setup({ observe: fail });
  const stream = client.stream('m', { onGap: fail, onResumed: fail });
  await stream.send('a');
  const texts: (string | undefined)[] = [];
  for await (const { text } of stream) {
    texts.push(text);
    if (texts.length === 1) {
      cut();
      await stream.sendLast('b');
    }
  }
  expect(texts).toEqual(server.outputTexts);
  // Two connections, a gap and a resume for the observer; the gap and the resume for the stream's own hooks.
  expect(thrown).toHaveLength(6);
  for (const callback of thrown) expect(callback).toThrow('of the hook');
});

test('closing the client ends an iteration with an error: what came so far is not the whole', async () => {
  const { client } = setup();
  const generated = client.generate('m', 'a');
  const pieces: string[] = [];
  const reading = (async () => {
    for await (const { text } of client.stream('m')) pieces.push(text ?? '');
  })();
  const whole = generated.text();
  const closed = { code: 'cancelled', message: 'the client is closed' };
  const ends = Promise.all([reading.catch((error: unknown) => error), whole.catch((error: unknown) => error)]);
  client.close();
  expect(await ends).toMatchObject([closed, closed]);
  expect(() => client.stream('m')).toThrow('the client is closed');
});

test.each([
  ['throw', () => refuse()],
  ['reject', () => Promise.resolve().then(refuse)],
])('headers that %s end a stream that was never opened', async (_, headers) => {
  const { client } = setup({ headers });
  const error = await client
    .generate('m', 'a')
    .text()
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: 'unreachable',
    message: 'the stream cannot be opened: Error: no token',
    cause: { message: 'no token' },
  });
});

test.each([
  ['throw', () => refuse()],
  ['reject', () => Promise.resolve().then(refuse)],
])('headers that %s while a stream is resumed are asked for again', async (_, headers) => {
  let asked = 0;
  const { client, server, cut } = setup({
    headers: () => {
      asked += 1;
      return asked === 2 ? headers() : [];
    },
  });
  const stream = client.stream('m');
  await stream.send('a');
  cut();
  await stream.sendLast('b');
  const texts: (string | undefined)[] = [];
  for await (const { text } of stream) texts.push(text);
  expect(texts).toEqual(server.outputTexts);
  expect(asked).toBe(3);
});

function refuse(): never {
  throw new Error('no token');
}
