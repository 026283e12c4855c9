/** Clients that give a large credit and read nothing, over real sockets: little waits on the connection, and nothing is lost. */
import { once } from 'node:events';
import { request } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { Readable } from 'node:stream';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { metricFrom } from '../support/metrics.ts';
import { ServerProcess } from '../support/server-process.ts';
import { StreamSocketClient } from '../support/stream-socket-client.ts';

const mebibyte = 1024 ** 2;
/** Many times what a stream keeps for its client, and what sockets hold. */
const outputs = 600;
const elements = 16_384;
const models = new ModelRepository().write(
  'flood/1/pipeline.ts',
  `import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { count: { datatype: 'INT32', shape: [1] } },
  outputs: { number: { datatype: 'INT32', shape: [${elements}] } },
  async *run({ inputs }) {
    for (let given = 0; given < inputs.count.data[0]!; given++) {
      yield { number: { data: new Int32Array(${elements}).fill(given) } };
    }
  },
});`,
);
const credit = { messages: 1_000_000, bytes: 2 ** 40 };
const tensors = [{ name: 'count', datatype: 'INT32', shape: [1], data: [outputs] }];
let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start([models.path]);
}, 120_000);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

/** Held when the test began: earlier streams keep their outputs for a resume. */
let heldBefore = 0;
beforeEach(async () => {
  heldBefore = await heldBytes();
});

const heldBytes = async (): Promise<number> =>
  metricFrom(await (await fetch(server.metricsUrl)).text(), 'millrace_request_memory_bytes');

async function madeOutputs(id: string): Promise<number> {
  const answer = await fetch(`${server.url}/v1/management/streams/${id}`);
  return ((await answer.json()) as { outputs: number }).outputs;
}

/** Waits until the stream makes no more outputs; how many it has made, and what it and its connection hold. */
async function paused(id: string): Promise<{ readonly made: number; readonly held: number }> {
  let made = -1;
  let looks = 0;
  await eventually(
    'the stream pauses',
    async () => {
      const before = made;
      made = await madeOutputs(id);
      looks = made > 0 && made === before ? looks + 1 : 0;
      return looks === 20;
    },
    60_000,
  );
  return { made, held: (await heldBytes()) - heldBefore };
}

function expectBounded({ made, held }: { readonly made: number; readonly held: number }): void {
  expect(made).toBeLessThan(0.75 * outputs);
  // 4 MiB of outputs that are kept for a resume, and at most twice 256 KiB, in JSON twice as long, on the connection.
  expect(held).toBeLessThan(6 * mebibyte);
}

/** The model's outputs, and one that says that there are no more. */
const sequences = Array.from({ length: outputs + 1 }, (_, index) => index + 1);

test('a WebSocket that is not read', { timeout: 240_000 }, async () => {
  const client = await StreamSocketClient.connect(server.url, { subprotocols: ['millrace.v1+proto'] });
  client.send({ open: { context: 'flood', outputCredit: credit } });
  const { streamId } = await client.received('opened');
  client.socket.pause();
  client.send({ input: { sequence: 1, tensors: [inputTensor()], endOfInput: true } });
  expectBounded(await paused(streamId as string));
  client.socket.on('message', () => {
    const last = client.all('output').at(-1)?.sequence;
    if (typeof last === 'number' && last % 10 === 0)
      client.send({ acknowledge: { output: last, outputCredit: credit } });
  });
  client.socket.resume();
  expect(await client.received('ended')).toMatchObject({ outcome: 'done', outputs: outputs + 1 });
  expect(client.all('output').map(({ sequence }) => sequence)).toEqual(sequences);
});

function inputTensor(): object {
  const raw = Buffer.alloc(4);
  raw.writeInt32LE(outputs);
  return { name: 'count', datatype: 'INT32', shape: [1], raw };
}

test('a stream of HTTP/2 whose client reads nothing', { timeout: 240_000 }, async () => {
  const session: ClientHttp2Session = connect(server.url);
  const call = session.request({
    ':method': 'POST',
    ':path': '/millrace.v1.InferenceService/Stream',
    'content-type': 'application/connect+json',
    'connect-protocol-version': '1',
  });
  const send = (frame: object): void => {
    const body = Buffer.from(JSON.stringify(frame));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    call.write(Buffer.concat([head, body]));
  };
  const streamId = 'unread-over-http-2-5c9d7e1f';
  send({ open: { streamId, context: 'flood', outputCredit: credit } });
  await once(call, 'response');
  send({ input: { sequence: 1, tensors, endOfInput: true } });
  await eventually('the stream is there', async () => (await madeOutputs(streamId)) > 0, 60_000);
  expectBounded(await paused(streamId));
  const seen: number[] = [];
  for await (const frame of connectFrames(call)) {
    const { output } = frame;
    if (output !== undefined) {
      seen.push(output.sequence as number);
      if (seen.length % 10 === 0) send({ acknowledge: { output: seen.length, outputCredit: credit } });
    }
    if (frame.ended !== undefined) expect(frame.ended).toMatchObject({ outcome: 'done', outputs: outputs + 1 });
    if (frame.ended !== undefined) break;
  }
  expect(seen).toEqual(sequences);
  session.destroy();
});

async function* connectFrames(call: Readable): AsyncGenerator<Readonly<Record<string, Record<string, unknown>>>> {
  let pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of call as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    if (size < 5) continue;
    let bytes = Buffer.concat(pieces);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1);
      yield JSON.parse(bytes.subarray(5, end).toString()) as Readonly<Record<string, Record<string, unknown>>>;
      bytes = bytes.subarray(end);
    }
    pieces = [bytes];
    size = bytes.length;
  }
}

test('server-sent events that are not read', { timeout: 240_000 }, async () => {
  const streamId = 'unread-events-5c9d7e1f';
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const call = request(`${server.url}/v1/streams`, { method: 'POST', headers });
  call.end(JSON.stringify({ context: 'flood', stream_id: streamId, input: { tensors }, end_of_input: true }));
  const [response] = (await once(call, 'response')) as [Readable];
  await eventually('the stream is there', async () => (await madeOutputs(streamId)) > 0, 60_000);
  expectBounded(await paused(streamId));
  // A credit by another call does not make the server keep more for this connection.
  const acknowledged = await fetch(`${server.url}/v1/streams/${streamId}/acknowledge`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ output: 0, outputCredit: credit }),
  });
  expect(acknowledged.ok).toBe(true);
  expectBounded(await paused(streamId));
  const seen: number[] = [];
  let rest = '';
  response.setEncoding('utf8');
  for await (const piece of response as AsyncIterable<string>) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() as string;
    for (const line of lines) if (/^id: \d+$/.test(line)) seen.push(Number(line.slice(4)));
  }
  expect(seen.filter((sequence) => sequence > 0)).toEqual(sequences);
});
