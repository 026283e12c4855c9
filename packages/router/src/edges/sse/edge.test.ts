import { type HttpHandler, type InjectedStream, inject, injectStreaming } from '@millrace/http';
import { Cancellation, InferenceError } from '@millrace/protocol';
import { beforeEach, describe, expect, test } from 'vitest';
import { CallerRule } from '../caller.ts';
import { encodeError } from '../routing/encode-error.ts';
import { createRouter } from '../routing/router.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { type ScriptedClientLink, ScriptedGateway } from '../streams/testing/scripted-gateway.ts';
import { createSseEdge } from './edge.ts';
import { keepAliveMs } from './keep-alives.ts';

let gateway: ScriptedGateway;
let handler: HttpHandler;
let nowMs: number;
let alarms: { readonly atMs: number; readonly callback: () => void }[];

function advance(ms: number): void {
  nowMs += ms;
  const due = alarms.filter(({ atMs }) => atMs <= nowMs);
  alarms = alarms.filter(({ atMs }) => atMs > nowMs);
  for (const { callback } of due) callback();
}

const unexpected = (error: unknown): never => {
  throw error;
};

beforeEach(() => {
  gateway = new ScriptedGateway();
  nowMs = 0;
  alarms = [];
  const routes = createSseEdge({
    gateway,
    callers: new CallerRule(),
    slices: new SliceQueue(),
    clock: {
      now: () => nowMs,
      alarm: (delayMs, callback) => {
        alarms.push({ atMs: nowMs + delayMs, callback });
        return () => {};
      },
    },
    onError: unexpected,
  });
  handler = createRouter(routes, (error) => encodeError(error, { retryAfterSeconds: 1, onError: unexpected }));
});

const body = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));

/** Reads the body of an answer piece by piece. */
class Reader {
  readonly #pieces: AsyncIterator<Uint8Array>;

  constructor({ body: pieces }: InjectedStream) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  async next(): Promise<string | undefined> {
    const { done, value } = await this.#pieces.next();
    return done === true ? undefined : Buffer.from(value as Uint8Array).toString();
  }

  async stop(): Promise<void> {
    await this.#pieces.return?.();
  }
}

interface Listening {
  readonly link: ScriptedClientLink;
  readonly answer: InjectedStream;
  readonly reader: Reader;
}

async function listen(target = '/v1/streams/abc', headers: [string, string][] = [], signal = new Cancellation()) {
  const linked = gateway.nextLink();
  const answered = injectStreaming(handler, { target, headers, signal, onError: unexpected });
  const link = await linked;
  link.sendOpened('abc');
  const answer = await answered;
  return { link, answer, reader: new Reader(answer) } satisfies Listening;
}

describe('a client that listens', () => {
  test('gets a priming event with an id, outputs with theirs, and the end', async () => {
    const { link, answer, reader } = await listen();
    expect(answer.status).toBe(200);
    expect([...answer.headers.entries()]).toEqual(
      expect.arrayContaining([
        ['content-type', 'text/event-stream'],
        ['cache-control', 'no-store'],
        ['x-accel-buffering', 'no'],
      ]),
    );
    expect(await reader.next()).toMatch(/^event: opened\nid: 0\nretry: 1000\ndata: \{"streamId":"abc",.*\}\n\n$/);
    link.sendText(1, 'one');
    link.sendText(2, 'two');
    expect(await reader.next()).toBe(
      'event: output\nid: 1\ndata: {"sequence":1,"inputSequence":1,"text":"one"}\n\n' +
        'event: output\nid: 2\ndata: {"sequence":2,"inputSequence":1,"text":"two"}\n\n',
    );
    link.sendEnded(2);
    expect(await reader.next()).toBe('event: ended\nid: end\ndata: {"outcome":"done","outputs":2}\n\n');
    expect(await reader.next()).toBeUndefined();
  });

  test('gives credit for an output only when the transport asks for what follows it', async () => {
    const { link, reader } = await listen();
    await reader.next();
    link.sendText(1, 'one');
    link.sendText(2, 'two');
    expect(link.takenOutputs).toEqual([]);
    await reader.next();
    expect(link.takenOutputs).toEqual([]);
    const next = reader.next();
    link.sendText(3, 'three');
    await next;
    expect(link.takenOutputs).toEqual([2]);
  });

  test('has large outputs encoded in slices, one at a time and in order', async () => {
    const { link, reader } = await listen();
    await reader.next();
    const large = 'x'.repeat(100_000);
    link.sendText(1, 'small');
    link.sendText(2, large);
    link.sendText(3, 'small');
    link.sendEnded(3);
    let text = '';
    for (let piece = await reader.next(); piece !== undefined; piece = await reader.next()) text += piece;
    expect(text.match(/^id: .*$/gm)).toEqual(['id: 1', 'id: 2', 'id: 3', 'id: end']);
    expect(text).toContain(`"text":"${large}"`);
  });

  test('resumes after the last event seen, by the field, or else by the query', async () => {
    const first = await listen('/v1/streams/abc?resume_after=7');
    expect(first.link.open).toMatchObject({ mode: 'resume', streamId: 'abc', resumeAfter: 7 });
    expect(await first.reader.next()).toContain('id: 7\n');
    const second = await listen('/v1/streams/abc?resume_after=7', [['last-event-id', '9']]);
    expect(second.link.open.resumeAfter).toBe(9);
  });

  test('says which client connects, and how often it has', async () => {
    const { link } = await listen('/v1/streams/abc?client_id=c&attempt=2');
    expect(link.open).toMatchObject({ clientId: 'c', attempt: 2 });
    expect((await listen('/v1/streams/abc')).link.open.clientId).toBeUndefined();
  });

  test('is detached when it goes away, also while nothing is sent', async () => {
    const signal = new Cancellation();
    const { link, reader } = await listen('/v1/streams/abc', [], signal);
    await reader.next();
    const next = reader.next();
    signal.cancel('cancelled');
    await next.catch(() => {});
    expect(link.isDetached).toBe(true);
  });

  test('is detached when it goes away before the stream is open', async () => {
    const signal = new Cancellation();
    const linked = gateway.nextLink();
    const answered = inject(handler, { target: '/v1/streams/abc', signal });
    const link = await linked;
    signal.cancel('cancelled');
    await expect(answered).rejects.toThrow('the caller went away');
    expect(link.isDetached).toBe(true);
  });

  test('that stops early is detached', async () => {
    const { link, reader } = await listen();
    await reader.next();
    await reader.stop();
    expect(link.isDetached).toBe(true);
  });

  test('gets a comment when nothing was sent for a while, and not before', async () => {
    const { link, reader } = await listen();
    await reader.next();
    const next = reader.next();
    advance(keepAliveMs - 1);
    advance(1);
    expect(await next).toBe(': keep-alive\n\n');
    link.sendText(1, 'one');
    expect(await reader.next()).toContain('id: 1\n');
    const afterOutput = reader.next();
    advance(keepAliveMs - 1);
    link.sendText(2, 'two');
    expect(await afterOutput).toContain('id: 2\n');
    advance(keepAliveMs);
    expect(await reader.next()).toBe(': keep-alive\n\n');
    expect(alarms.length).toBe(1);
  });

  test('is told the error that closes its connection, and may resume', async () => {
    const { link, reader } = await listen();
    await reader.next();
    link.sendText(1, 'one');
    link.listener.onClosed(new InferenceError('draining', 'the server is shutting down'));
    expect(await reader.next()).toContain('id: 1\n');
    expect(await reader.next()).toBe(
      'event: error\ndata: {"code":"draining","message":"the server is shutting down"}\n\n',
    );
    expect(await reader.next()).toBeUndefined();
  });

  test('does not take a stream back from the client that resumed it', async () => {
    const { link, reader } = await listen();
    await reader.next();
    link.listener.onClosed(new InferenceError('stream-superseded', 'another client has resumed this stream'));
    expect(await reader.next()).toMatch(/^event: error\nid: end\ndata: \{"code":"stream-superseded",/);
  });

  test('is stopped with 204 when it has seen the end', async () => {
    gateway.known.add('abc');
    const headers: [string, string][] = [['last-event-id', 'end']];
    expect((await inject(handler, { target: '/v1/streams/abc', headers })).status).toBe(204);
    expect((await inject(handler, { target: '/v1/streams/other', headers })).status).toBe(404);
    expect(gateway.links).toEqual([]);
  });

  test('learns of a refusal by its status, before any event', async () => {
    const linked = gateway.nextLink();
    const answered = inject(handler, { target: '/v1/streams/abc' });
    (await linked).listener.onClosed(new InferenceError('output-expired', 'outputs up to 7 are no longer kept'));
    const answer = await answered;
    expect([answer.status, answer.headers.get('millrace-error-code'), answer.text()]).toEqual([
      410,
      'output-expired',
      '{"error":"outputs up to 7 are no longer kept"}',
    ]);
  });

  test.each([
    ['/v1/streams/abc', [['last-event-id', 'seven']], 400, "Last-Event-ID is 'seven'"],
    ['/v1/streams/abc?resume_after=-1', [], 400, "resume_after is '-1'"],
    ['/v1/streams/abc?client_id=c&attempt=some', [], 400, 'attempt'],
    ['/v1/streams/abc?attempt=2', [], 400, 'open.attempt is 2, but there is no open.client_id'],
    ['/v1/streams/abc?client_id=a%20b', [], 400, "the client id 'a b' must have"],
    [`/v1/streams/${'a'.repeat(129)}`, [], 404, 'is not a path of this server'],
    ['/v1/streams/a%20b', [], 404, 'is not a path of this server'],
  ] as const)('%s %j is refused', async (target, headers, status, message) => {
    const answer = await inject(handler, { target, headers });
    expect([answer.status, answer.text()]).toEqual([status, expect.stringContaining(message)]);
    expect(gateway.links).toEqual([]);
  });

  test('a HEAD request takes no stream over', async () => {
    gateway.known.add('abc');
    const answer = await inject(handler, { method: 'HEAD', target: '/v1/streams/abc' });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(gateway.links).toEqual([]);
  });
});

describe('opening a stream', () => {
  const begin = { context: 'm', parameters: { seed: 7 }, input: { text: 'Once' }, end_of_input: true };

  test('with Accept: text/event-stream has the events on the same response', async () => {
    const linked = gateway.nextLink();
    const answered = injectStreaming(handler, {
      method: 'POST',
      target: '/v1/streams',
      headers: [['accept', 'application/json;q=0.5, Text/Event-Stream']],
      body: body(begin),
    });
    const link = await linked;
    link.sendOpened('made');
    expect((await answered).status).toBe(200);
    expect(link.open).toMatchObject({ context: 'm', parameters: { seed: 7 }, resumeAfter: 0 });
    expect(link.inputs).toMatchObject([{ sequence: 1, payload: { text: 'Once' }, endOfInput: true }]);
    expect(link.options).toEqual({ isAcknowledging: false });
  });

  test('without it is answered with 201 when the input is durable, and detached', async () => {
    const linked = gateway.nextLink();
    const answered = inject(handler, { method: 'POST', target: '/v1/streams', body: body(begin) });
    const link = await linked;
    link.sendOpened('made');
    expect(link.isDetached).toBe(false);
    link.listener.onFrame({ kind: 'accepted', input: 1, inputCredit: { messages: 4, bytes: 512 } });
    const answer = await answered;
    expect([answer.status, answer.headers.get('location'), link.isDetached]).toEqual([201, '/v1/streams/made', true]);
    expect(JSON.parse(answer.text())).toMatchObject({
      streamId: 'made',
      acceptedInput: 1,
      inputCredit: { messages: 4, bytes: 512 },
    });
  });

  test('without an input is answered at once', async () => {
    const linked = gateway.nextLink();
    const answered = inject(handler, { method: 'POST', target: '/v1/streams', body: body({ context: 'm' }) });
    const link = await linked;
    link.sendOpened('made');
    expect([(await answered).status, link.inputs, link.isDetached]).toEqual([201, [], true]);
  });

  test('that is refused has the status of the error', async () => {
    const linked = gateway.nextLink();
    const answered = inject(handler, { method: 'POST', target: '/v1/streams', body: body(begin) });
    (await linked).listener.onClosed(new InferenceError('unknown-model', 'there is no model m'));
    expect((await answered).status).toBe(404);
  });

  test('again with the id of the last event resumes a stream that the body names', async () => {
    const linked = gateway.nextLink();
    const headers: [string, string][] = [
      ['accept', 'text/event-stream'],
      ['last-event-id', '3'],
    ];
    const request = { method: 'POST', target: '/v1/streams', headers };
    void injectStreaming(handler, { ...request, body: body({ ...begin, stream_id: 'abc' }) });
    expect((await linked).open).toMatchObject({ streamId: 'abc', mode: 'either', resumeAfter: 3 });
    const answer = await inject(handler, { ...request, body: body(begin) });
    expect([answer.status, answer.text()]).toEqual([400, expect.stringContaining('name it by stream_id')]);
  });

  test.each([
    [{ context: 'm', promt: 'x' }, [], 400, 'promt'],
    [{ context: 'm' }, [['content-encoding', 'gzip']], 501, 'send the body uncompressed'],
  ] as const)('%j %j is refused', async (begun, headers, status, message) => {
    const answer = await inject(handler, { method: 'POST', target: '/v1/streams', headers, body: body(begun) });
    expect([answer.status, answer.text()]).toEqual([status, expect.stringContaining(message)]);
    expect(gateway.links).toEqual([]);
  });

  test('a body over the limit of a frame is refused', async () => {
    const answer = await inject(handler, {
      method: 'POST',
      target: '/v1/streams',
      body: Buffer.alloc(16 * 1024 * 1024 + 1, 0x20),
    });
    expect([answer.status, answer.text()]).toEqual([413, expect.stringContaining('16777216 bytes allowed')]);
  });
});

describe('calls beside the connection', () => {
  const post = (target: string, value: object) => inject(handler, { method: 'POST', target, body: body(value) });

  test('an input is answered when it is durable', async () => {
    gateway.known.add('abc');
    const answer = await post('/v1/streams/abc/inputs', { sequence: 2, text: ' upon', end_of_input: true });
    expect([answer.status, answer.text()]).toEqual([200, '{"input":2}']);
    expect(gateway.calls).toMatchObject([['input', 'abc', { sequence: 2, endOfInput: true }]]);
  });

  test('an acknowledgement and a cancellation are passed on', async () => {
    gateway.known.add('abc');
    const acknowledged = await post('/v1/streams/abc/acknowledge', { output: 41 });
    const cancelled = await inject(handler, { method: 'DELETE', target: '/v1/streams/abc' });
    expect([acknowledged.status, cancelled.status]).toEqual([204, 204]);
    expect(gateway.calls).toMatchObject([
      ['acknowledge', 'abc', { output: 41 }],
      ['cancel', 'abc', { kind: 'cancel' }],
    ]);
  });

  test('for a stream that is not there are refused', async () => {
    const answers = await Promise.all([
      post('/v1/streams/abc/inputs', { sequence: 1 }),
      post('/v1/streams/abc/acknowledge', { output: 1 }),
      inject(handler, { method: 'DELETE', target: '/v1/streams/abc' }),
    ]);
    expect(answers.map(({ status, headers }) => [status, headers.get('millrace-error-code')])).toEqual(
      Array.from({ length: 3 }, () => [404, 'stream-not-found']),
    );
  });
});
