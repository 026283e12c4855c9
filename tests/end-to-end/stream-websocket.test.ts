/** Durable streams over WebSocket against a real server: both forms, resume after cuts and kills, refusals. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import {
  type FrameObject,
  jsonFrames,
  protoFrames,
  type SocketOptions,
  StreamSocketClient,
} from '../support/stream-socket-client.ts';

const app = 'https://app.example';
const frameBytesMax = 16 * 1024 * 1024;
let folder = '';
let server: ServerProcess;
const clients: StreamSocketClient[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-websocket-'));
  cpSync(join(repositoryRoot, 'models/listener_tensors'), join(folder, 'listener_tensors'), { recursive: true });
  cpSync(join(repositoryRoot, 'tests/models/identity_fp32'), join(folder, 'identity_fp32'), { recursive: true });
  server = await ServerProcess.start([folder, '--cors-origins', app]);
});
afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.terminate();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});

async function connect(options: SocketOptions = {}, url = server.url): Promise<StreamSocketClient> {
  const client = await StreamSocketClient.connect(url, options);
  clients.push(client);
  return client;
}

async function opened(open: Record<string, unknown>, options: SocketOptions = {}): Promise<StreamSocketClient> {
  const client = await connect(options);
  client.send({ open });
  await client.received('opened');
  return client;
}

/** Twenty milliseconds of a tone, another for each input. */
function audio(sequence: number): Float32Array {
  return Float32Array.from({ length: 320 }, (_, at) => Math.sin((at * sequence) / 25) / 2);
}

function listenerInput(sequence: number, last: number): FrameObject {
  const data = audio(sequence);
  const raw = Buffer.from(data.buffer).toString('base64');
  const tensors = [{ name: 'audio', datatype: 'FP32', shape: [1, 320], raw }];
  return { input: { sequence, tensors, endOfInput: sequence === last } };
}

const last = 12;

/** Sends the inputs from one on; the model keeps state, so that every output depends on all inputs before it. */
function sendFrom(client: StreamSocketClient, first: number, end = last): void {
  for (let sequence = first; sequence <= end; sequence++) client.send(listenerInput(sequence, last));
}

/** Takes the outputs of a stream that nothing disturbs. */
async function undisturbed(options: SocketOptions = {}): Promise<readonly Record<string, unknown>[]> {
  const client = await opened({ context: 'listener_tensors' }, options);
  sendFrom(client, 1);
  expect(await client.received('ended')).toMatchObject({ outcome: 'done', outputs: last });
  expect(await client.closed).toEqual({ code: 1000, reason: 'the stream has ended' });
  return client.all('output');
}

/** Goes on with a stream after the outputs that were seen; its client got the rest. */
async function resumed(streamId: string, seen: number, options: SocketOptions = {}): Promise<StreamSocketClient> {
  const client = await opened({ streamId, mode: 'resume', resumeAfter: seen }, options);
  const { acceptedInput, nextOutput } = await client.received('opened');
  expect(nextOutput).toBe(seen + 1);
  sendFrom(client, (acceptedInput as number) + 1);
  await client.received('ended');
  expect(await client.closed).toMatchObject({ code: 1000 });
  return client;
}

describe.each([jsonFrames, protoFrames])('%s', (form) => {
  const options = { subprotocols: [form] };

  test('outputs after a cut are those of an undisturbed stream', async () => {
    const expected = await undisturbed(options);
    expect(expected).toHaveLength(last);
    const first = await opened({ context: 'listener_tensors' }, options);
    expect(first.socket.protocol).toBe(form);
    const { streamId } = await first.received('opened');
    sendFrom(first, 1, 7);
    await first.received('output', 4);
    first.socket.terminate();
    await first.closed;
    const seen = first.all('output').slice(0, 4);
    const second = await resumed(streamId as string, seen.length, options);
    expect([...seen, ...second.all('output')]).toEqual(expected);
  });

  test('a message of the other kind closes the connection', async () => {
    const client = await connect(options);
    client.socket.send(form === jsonFrames ? Buffer.from('{}') : '{}');
    const { code, reason } = await client.closed;
    expect(code).toBe(4001);
    expect(reason).toMatch(/^invalid-request: a (binary|text) message on millrace\.v1\+/);
  });
});

test('outputs after kill -9 of the router are those of an undisturbed stream', async () => {
  const expected = await undisturbed();
  const first = await opened({ context: 'listener_tensors' });
  const { streamId, epoch } = await first.received('opened');
  sendFrom(first, 1, 7);
  await first.received('output', 3);
  process.kill(server.routerPid, 'SIGKILL');
  expect((await first.closed).code).toBe(1006);
  const seen = first.all('output');
  const second = await resumed(streamId as string, seen.length);
  expect([...seen, ...second.all('output')]).toEqual(expected);
  expect((await second.received('opened')).epoch).toBeGreaterThan(epoch as number);
  await server.whenReady();
});

test('a client that names no subprotocol speaks JSON; the port of gRPC serves it too', async () => {
  const client = await connect({ subprotocols: [] }, server.grpcUrl);
  expect(client.socket.protocol).toBe('');
  client.send({ open: { context: 'identity_fp32' } });
  await client.received('opened');
  client.send({
    input: {
      sequence: 1,
      tensors: [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 2], data: [1, 2.5] }],
      endOfInput: true,
    },
  });
  expect(await client.received('output')).toEqual({
    sequence: 1,
    inputSequence: 1,
    tensors: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [1, 2], data: [1, 2.5] }],
    endOfOutput: true,
  });
  expect((await client.closed).code).toBe(1000);
});

test('frames that are read and written in slices keep their order', async () => {
  const client = await opened({ context: 'identity_fp32' });
  const sizes = [20_000, 1, 40_000, 2, 30_000];
  for (const [index, size] of sizes.entries()) {
    const data = Array.from({ length: size }, (_, at) => at + 0.5);
    const tensors = [{ name: 'INPUT0', datatype: 'FP32', shape: [1, size], data }];
    client.send({ input: { sequence: index + 1, tensors, endOfInput: index + 1 === sizes.length } });
  }
  expect(await client.received('ended')).toMatchObject({ outcome: 'done' });
  const lengths = client.all('output').map(({ tensors }) => (tensors as { data: number[] }[])[0]?.data.length);
  expect(lengths).toEqual(sizes);
  expect(client.frames.at(-1)).toHaveProperty('ended');
  expect((await client.closed).code).toBe(1000);
});

test('the example of the reference runs', async () => {
  const page = readFileSync(join(repositoryRoot, 'docs/reference/streams.md'), 'utf8');
  const [, example = ''] = /\n## WebSocket\n.*?```js\n(.*?)\n```/s.exec(page) ?? [];
  const code = example.replace('localhost:8000', new URL(server.url).host);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: repositoryRoot,
  });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^1 speech .*\n2 speech .*\n3 speech .*\ndone \n$/);
});

test('a second connection to a stream closes the first', async () => {
  const first = await opened({ context: 'identity_fp32' });
  const { streamId } = await first.received('opened');
  await opened({ streamId, mode: 'resume' });
  const { code, reason } = await first.closed;
  expect(code).toBe(4027);
  expect(reason).toMatch(/^stream-superseded: /);
});

test('cancel ends the stream, and a ping is answered', async () => {
  const client = await opened({ context: 'identity_fp32' });
  const pong = new Promise((resolve) => client.socket.once('pong', resolve));
  client.socket.ping();
  await pong;
  client.send({ cancel: { reason: 'enough' } });
  expect(await client.received('ended')).toMatchObject({
    outcome: 'cancelled',
    code: 'cancelled',
    message: 'cancelled by the client: enough',
  });
  expect((await client.closed).code).toBe(1000);
});

describe('what a client does wrong is said in the close frame:', () => {
  test.each<[string, (client: StreamSocketClient) => void, number, RegExp]>([
    [
      'an input before open',
      (client) => client.send({ input: { sequence: 1, text: 'x' } }),
      4001,
      /^invalid-request: the first frame must be open, and is input$/,
    ],
    ['an unknown model', (client) => client.send({ open: { context: 'nobody' } }), 4007, /^unknown-model: .*nobody/],
    ['no context', (client) => client.send({ open: {} }), 4001, /^invalid-request: .*context/],
    [
      'an unknown stream',
      (client) => client.send({ open: { streamId: 'unknown-stream', mode: 'resume' } }),
      4025,
      /^stream-not-found: there is no stream unknown-stream/,
    ],
    [
      'malformed JSON',
      (client) => client.socket.send('{"open":'),
      4001,
      /^invalid-request: open: JSON at line 1, column 9/,
    ],
    ['a misspelt field', (client) => client.send({ open: { contxt: 'x' } }), 4001, /^invalid-request: .*contxt/],
    [
      'a frame that is too large',
      (client) => client.socket.send(Buffer.alloc(frameBytesMax + 1, ' ').toString()),
      1009,
      /^the message is larger than 16777216 bytes$/,
    ],
  ])('%s', async (_what, act, code, reason) => {
    const client = await connect();
    act(client);
    const closing = await client.closed;
    expect(closing).toEqual({ code, reason: expect.stringMatching(reason) });
    expect(client.frames).toEqual([]);
  });

  test('a second open, after which the stream can be resumed', async () => {
    const client = await opened({ context: 'identity_fp32' });
    const { streamId } = await client.received('opened');
    client.send({ open: { context: 'identity_fp32' } });
    expect(await client.closed).toEqual({
      code: 4001,
      reason: expect.stringMatching(/^invalid-request: the connection has a stream already/),
    });
    await opened({ streamId, mode: 'resume' });
  });

  test('an id that is in use with another context', async () => {
    const streamId = 'ffb3dba0-1a3c-4d0c-8a51-5fb1e6a1b0c4';
    await opened({ streamId, context: 'identity_fp32' });
    const client = await connect();
    client.send({ open: { streamId, context: 'listener_tensors' } });
    expect(await client.closed).toEqual({
      code: 4026,
      reason: expect.stringMatching(/^stream-conflict: stream ffb3dba0/),
    });
  });
});

test('an input too far ahead ends the stream with the code in ended', async () => {
  const client = await opened({ context: 'identity_fp32' });
  const tensors = [{ name: 'INPUT0', datatype: 'FP32', shape: [1, 1], data: [1] }];
  client.send({ input: { sequence: 1000, tensors } });
  expect(await client.received('ended')).toMatchObject({ outcome: 'failed', code: 'sequence-gap' });
  expect((await client.closed).code).toBe(1000);
});

test('requests without an upgrade, other subprotocols and foreign pages are refused', async () => {
  const plain = await fetch(`${server.url}/v1/streams`);
  expect([plain.status, plain.headers.get('upgrade')]).toEqual([426, 'websocket']);
  expect(await plain.json()).toEqual({
    error: expect.stringMatching(/open it with a WebSocket client.*POST \/v1\/streams with Accept: text\/event-stream/),
  });
  await expect(connect({ subprotocols: ['chat'] })).rejects.toThrow(
    /^400 no subprotocol of the request is supported; this server supports millrace\.v1\+json, millrace\.v1\+proto/,
  );
  await expect(connect({ headers: { Origin: 'https://evil.example' } })).rejects.toThrow(/^403 .*http\.corsOrigins/);
  await expect(connect({ headers: { Host: 'evil.example' } })).rejects.toThrow(/^403 .*server\.allowedHosts/);
  for (const origin of [app, server.url]) {
    const client = await opened({ context: 'identity_fp32' }, { headers: { Origin: origin } });
    expect(client.all('opened')).toHaveLength(1);
  }
});

test('a server that shuts down sends draining, and closes with 1001', async () => {
  const client = await opened({ context: 'identity_fp32' });
  expect(await server.stop()).toBe(0);
  expect(await client.closed).toMatchObject({ code: 1001 });
  expect(client.frames.at(-1)).toEqual({ draining: { message: expect.stringContaining('resume the stream') } });
});
