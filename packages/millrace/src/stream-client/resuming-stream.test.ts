import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { GrpcCallStatus } from './grpc-status.ts';
import { askHealth } from './health-check.ts';
import { ResumingStream, type ResumingStreamOptions, StreamGivenUp } from './resuming-stream.ts';

type Frame = Readonly<Record<string, Record<string, unknown>>>;

/** One call on the server's side. */
class ServedCall {
  readonly path: string;
  readonly frames: Frame[] = [];
  readonly #stream: ServerHttp2Stream;
  #wake: () => void = () => {};

  constructor(path: string, stream: ServerHttp2Stream) {
    this.path = path;
    this.#stream = stream;
    let bytes = Buffer.alloc(0);
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
        const end = 5 + bytes.readUInt32BE(1);
        this.frames.push(JSON.parse(bytes.toString('utf8', 5, end)) as Frame);
        bytes = bytes.subarray(end);
      }
      this.#wake();
    });
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+json' }, { waitForTrailers: true });
  }

  async received(count: number): Promise<readonly Frame[]> {
    while (this.frames.length < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.frames.slice(0, count);
  }

  send(frame: object): void {
    const body = Buffer.from(JSON.stringify(frame));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    this.#stream.write(Buffer.concat([head, body]));
  }

  end(trailers: Record<string, string>): void {
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(trailers));
    this.#stream.end();
  }

  /** As a server that dies. */
  lose(): void {
    (this.#stream.session as ServerHttp2Session).socket.resetAndDestroy();
  }
}

let server: Http2Server;
let url: string;
const calls: ServedCall[] = [];
let wake: () => void = () => {};
const streams: ResumingStream[] = [];

beforeEach(async () => {
  calls.length = 0;
  server = createServer();
  server.on('session', (session) => session.on('error', () => {}));
  server.on('stream', (stream, headers) => {
    calls.push(new ServedCall(String(headers[':path']), stream));
    wake();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.leave();
  await new Promise((resolve) => server.close(resolve));
});

async function call(number: number): Promise<ServedCall> {
  while (calls.length < number) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  return calls[number - 1] as ServedCall;
}

function opened(acceptedInput: number, nextOutput: number, messages = 64) {
  const inputCredit = { messages, bytes: 1000 };
  return { opened: { streamId: 'a', epoch: 1, model: 'm', version: '1', acceptedInput, nextOutput, inputCredit } };
}

function open(given: Partial<ResumingStreamOptions> = {}) {
  const outputs: number[] = [];
  const losses: GrpcCallStatus[] = [];
  const stream = new ResumingStream({
    url,
    streamId: 'a',
    mode: 'either',
    context: 'm',
    parameters: { seed: 7 },
    resumeAfter: 0,
    outputCredit: { messages: 4, bytes: 1000 },
    openMsMax: 20_000,
    lostMsMax: 20_000,
    random: () => 0,
    now: () => performance.now(),
    listener: { onOutput: ({ sequence }) => outputs.push(sequence), onLost: (status) => losses.push(status) },
    ...given,
  });
  streams.push(stream);
  return { stream, outputs, losses };
}

const text = (value: string) => ({ fields: { text: value }, bytes: value.length });

test('a lost connection is UNAVAILABLE, and the stream goes on after the last output with what was not accepted', async () => {
  const { stream, outputs, losses } = open();
  void stream.send(text('one'), false).then(() => stream.send(text('two'), true));
  const first = await call(1);
  expect(first.path).toBe('/millrace.v1.InferenceService/Stream');
  expect((await first.received(1))[0]?.open).toMatchObject({ streamId: 'a', mode: 'either', resumeAfter: 0 });
  first.send(opened(0, 1));
  const [, one, two] = await first.received(3);
  expect(one).toEqual({ input: { sequence: 1, text: 'one' } });
  expect(two).toEqual({ input: { sequence: 2, text: 'two', endOfInput: true } });
  first.send({ accepted: { input: 1 } });
  first.send({ output: { sequence: 1, inputSequence: 1 } });
  first.send({ output: { sequence: 2, inputSequence: 1 } });
  while (outputs.length < 2) await new Promise((resolve) => setImmediate(resolve));
  first.lose();
  const second = await call(2);
  expect(losses.map(({ name }) => name)).toEqual(['UNAVAILABLE']);
  expect((await second.received(1))[0]?.open).toMatchObject({ streamId: 'a', mode: 'resume', resumeAfter: 2 });
  second.send(opened(1, 3));
  expect((await second.received(2))[1]).toEqual(two);
  // What comes twice is seen once.
  second.send({ output: { sequence: 2, inputSequence: 1 } });
  second.send({ output: { sequence: 3, inputSequence: 2, endOfOutput: true } });
  second.send({ ended: { outcome: 'done', outputs: 3 } });
  expect(await stream.whenEnded).toEqual({ outcome: 'done', outputs: 3 });
  expect(outputs).toEqual([1, 2, 3]);
});

test('inputs stay within the credit', async () => {
  const { stream } = open();
  let sent = 0;
  const sending = (async () => {
    for (const value of ['a', 'b', 'c']) {
      await stream.send(text(value), value === 'c');
      sent += 1;
    }
  })();
  const served = await call(1);
  served.send(opened(0, 1, 1));
  await served.received(2);
  served.send({ accepted: { input: 1, inputCredit: { messages: 2, bytes: 1000 } } });
  await served.received(4);
  await sending;
  expect(sent).toBe(3);
  expect(served.frames.slice(1).map(({ input }) => input?.text)).toEqual(['a', 'b', 'c']);
});

test('outputs are acknowledged when asked, soon ones with a quarter of the credit', async () => {
  const { stream } = open({ outputCredit: { messages: 8, bytes: 1000 } });
  const served = await call(1);
  served.send(opened(0, 1));
  served.send({ output: { sequence: 1, inputSequence: 1 } });
  while (stream.lastOutput < 1) await new Promise((resolve) => setImmediate(resolve));
  stream.acknowledge(1, true);
  stream.acknowledge(2, true);
  stream.acknowledge(2);
  stream.acknowledge(3);
  const credit = { messages: 8, bytes: 1000 };
  expect((await served.received(3)).slice(1)).toEqual([
    { acknowledge: { output: 2, outputCredit: credit } },
    { acknowledge: { output: 3, outputCredit: credit } },
  ]);
});

test('a cancel is sent again on the next connection', async () => {
  const { stream } = open();
  const first = await call(1);
  first.send(opened(0, 1));
  await first.received(1);
  // It may be asked before the stream is open.
  stream.cancel('enough');
  await first.received(2);
  first.lose();
  const second = await call(2);
  second.send(opened(0, 1));
  expect((await second.received(2))[1]).toEqual({ cancel: { reason: 'enough' } });
  second.send({ ended: { outcome: 'cancelled', code: 'cancelled', outputs: 0 } });
  expect(await stream.whenEnded).toMatchObject({ outcome: 'cancelled' });
});

test('the end of a call without an end of the stream is a loss, however polite', async () => {
  const { losses } = open();
  const first = await call(1);
  first.send(opened(0, 1));
  first.end({ 'grpc-status': '0' });
  await call(2);
  expect(losses.map(({ name }) => name)).toEqual(['OK']);
});

/** google.rpc.Status with google.rpc.ErrorInfo, as the server writes it: reason and domain. */
function details(reason: string): string {
  return Buffer.from(`\n${String.fromCharCode(reason.length)}${reason}\u0012\bmillrace`, 'latin1').toString('base64');
}

test('an error that would come again ends it, one that passes does not', async () => {
  const { stream, losses } = open();
  const first = await call(1);
  first.end({ 'grpc-status': '14', 'grpc-status-details-bin': details('DRAINING') });
  const second = await call(2);
  expect(losses[0]).toMatchObject({ name: 'UNAVAILABLE', code: 'draining' });
  second.end({
    'grpc-status': '5',
    'grpc-message': 'no%20such%20model',
    'grpc-status-details-bin': details('UNKNOWN_MODEL'),
  });
  const refusal = await stream.whenEnded.catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(StreamGivenUp);
  expect((refusal as Error).message).toBe('unknown-model: no such model');
});

test('an address where nothing listens is refused at once, and a server that stays away after the time limit', async () => {
  const nothing = open({ url: 'http://127.0.0.1:1' });
  await expect(nothing.stream.whenEnded).rejects.toMatchObject({ status: { systemCode: 'ECONNREFUSED' } });
  const { stream } = open({ lostMsMax: 0 });
  (await call(1)).lose();
  await expect(stream.whenEnded).rejects.toThrow(/^no connection for 0 s; at last UNAVAILABLE/);
});

test('a port that is none for inference is refused at once, and a proxy without a server is asked again', async () => {
  const answering = async (status: number) => {
    const other = createServer();
    other.on('stream', (stream) => stream.respond({ ':status': status }, { endStream: true }));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    return { other, url: `http://127.0.0.1:${(other.address() as { port: number }).port}` };
  };
  const metrics = await answering(405);
  const { stream } = open({ url: metrics.url });
  await expect(stream.whenEnded).rejects.toThrow(/HTTP status 405: this is not a port for inference/);
  const proxy = await answering(503);
  const waiting = open({ url: proxy.url });
  await expect.poll(() => waiting.losses.length, { timeout: 10_000 }).toBeGreaterThan(1);
  waiting.stream.leave();
  for (const { other } of [metrics, proxy]) other.close();
});

test('a connection on which the stream is not open in time is made again', async () => {
  const { losses } = open({ openMsMax: 1 });
  await call(2);
  expect(losses[0]?.name).toBe('DEADLINE_EXCEEDED');
});

test('health is what the server says, or the status of the call', async () => {
  const asked = askHealth(url, 'm', 20_000);
  const served = await call(1);
  expect(served.path).toBe('/grpc.health.v1.Health/Check');
  expect(await served.received(1)).toEqual([{ service: 'm' }]);
  served.send({ status: 'SERVING' });
  served.end({ 'grpc-status': '0' });
  expect(await asked).toEqual({ state: 'SERVING' });
  expect(await askHealth('http://127.0.0.1:1', 'm', 20_000)).toMatchObject({ status: { name: 'UNAVAILABLE' } });
});
