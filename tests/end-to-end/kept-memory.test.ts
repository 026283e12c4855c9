/**
 * What a server keeps from one request for the next: caches, memos, tables. Each has a bound; after thousands of
 * requests with contents that never come again, over real sockets, memory is back to what it was and these bounds.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { envelope, inferMessage, inferMethod } from '../attacks/raw/infer-message.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const cacheBytesMax = 2 * MiB;

interface Kept {
  readonly what: string;
  readonly entriesMax: number;
  readonly bytesMax: number;
}

/** Everything that outlives a request because of what was in it. Bytes as they lie in memory, not as they are counted. */
const kept: readonly Kept[] = [
  { what: 'texts of gRPC messages (edges/grpc/text-memo.ts)', entriesMax: 1024, bytesMax: 1024 * 400 },
  { what: 'short strings of JSON (protocol/json/read-string.ts)', entriesMax: 256, bytesMax: 256 * 64 },
  { what: 'JSON of requests with binary tensors (edges/rest/infer-json.ts)', entriesMax: 64, bytesMax: 64 * 8 * KiB },
  { what: 'templates of their answers (edges/rest/answer-template.ts)', entriesMax: 64, bytesMax: 64 * 4 * KiB },
  { what: 'string literals of HPACK (hpack/literal-memo.ts)', entriesMax: 256, bytesMax: 256 * 256 },
  { what: 'dynamic tables of HPACK, per connection (hpack/*-table.ts)', entriesMax: 128, bytesMax: 32 * KiB },
  { what: 'the last head of an HTTP/1.1 connection (http1/repeated-head.ts)', entriesMax: 1, bytesMax: 32 * KiB },
  { what: 'counts of callers (scheduler/caller-counts.ts)', entriesMax: 4096, bytesMax: 4096 * 512 },
  { what: 'results (result-cache/stored-results.ts)', entriesMax: cacheBytesMax / 512, bytesMax: 2 * cacheBytesMax },
  { what: 'sequences and their states (sequences/sequencer.ts)', entriesMax: 8 + 1024, bytesMax: MiB },
  { what: 'frames to workers (dispatch/frame-writer.ts)', entriesMax: 4, bytesMax: 4 * MiB },
];

/** For memory that the JavaScript engine keeps itself: compiled code, shapes, free lists. */
const slackBytes = 8 * MiB;
const boundOf = (...parts: readonly string[]): number =>
  kept
    .filter(({ what }) => parts.some((part) => what.includes(part)))
    .reduce((sum, { bytesMax }) => sum + bytesMax, slackBytes);

// Thousands of requests on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const models = new ModelRepository();
let server: ServerProcess;
/** Of the gRPC requests. A client library would take most of the time of these tests. */
let grpcSession: ClientHttp2Session | undefined;

beforeAll(async () => {
  for (const name of ['identity_uint8', 'sequence_sum']) models.copy(join(repositoryRoot, 'tests/models', name));
  const config = readFileSync(join(models.path, 'sequence_sum/config.pbtxt'), 'utf8');
  // Shorter than the model's: a test waits for it.
  models.write('sequence_sum/config.pbtxt', config.replace(/(max_sequence_idle_microseconds): \d+/, '$1: 1000000'));
  server = await ServerProcess.start(
    [
      ...[models.path, '--caller-header', 'x-caller', '--cache-bytes-max', String(cacheBytesMax)],
      // It starts a second after the worker, and the memory that it would share counts in full, used or not.
      ...['--worker-standby', '0'],
    ],
    { measuresMemory: true },
  );
});

/** For one test: the server closes a connection that is idle while other tests run. */
async function openGrpcSession(): Promise<void> {
  grpcSession = connect(server.grpcUrl, { settings: { initialWindowSize: 4 * MiB } });
  await once(grpcSession, 'connect');
  grpcSession.setLocalWindowSize(16 * MiB);
}

afterEach(() => {
  grpcSession?.close();
  grpcSession = undefined;
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

/** Calls `run` for each number, eight at a time. */
async function each(from: number, to: number, run: (index: number) => Promise<unknown>): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) await run(next++);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** Bytes that stay after requests with contents that never come again; a few before them warm everything up. */
async function growthBy(count: number, run: (index: number) => Promise<unknown>): Promise<number> {
  await each(0, Math.min(200, count), run);
  const before = await server.keptBytes();
  await each(count, 2 * count, run);
  return (await server.keptBytes()) - before;
}

async function seriesCount(): Promise<number> {
  const text = await (await fetch(server.metricsUrl)).text();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
}

interface GrpcCall {
  readonly model?: string;
  readonly input?: string;
  readonly id?: string;
  readonly bytes: number;
}

/** The message of the refusal, or that it was answered. */
function inferOverGrpc({ model = 'identity_uint8', input = 'INPUT0', id = '', bytes }: GrpcCall): Promise<string> {
  const message = inferMessage({
    model,
    id,
    inputs: [{ name: input, datatype: 'UINT8', shape: [1, bytes] }],
    raw: [Buffer.alloc(bytes, id)],
  });
  const headers = { ':method': 'POST', ':path': inferMethod, 'content-type': 'application/grpc', te: 'trailers' };
  return new Promise((resolve, reject) => {
    if (grpcSession === undefined) throw new Error('open a session first');
    const stream = grpcSession.request(headers);
    let fields: IncomingHttpHeaders = {};
    const take = (received: IncomingHttpHeaders): void => {
      fields = { ...fields, ...received };
    };
    stream.once('response', take).once('trailers', take).once('error', reject);
    stream.once('close', () => {
      resolve(fields['grpc-status'] === '0' ? 'answered' : decodeURIComponent(String(fields['grpc-message'])));
    });
    stream.resume().end(envelope(message));
  });
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

function post(path: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(`${server.url}${path}`, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject).end(body);
  });
}

const inferPath = (model: string): string => `/v2/models/${model}/infer`;
const unique = (index: number): string => `${index}-${'u'.repeat(40)}`;

function jsonOf(index: number, values: readonly number[], parameters: object = {}): string {
  const inputs = [{ name: 'INPUT0', datatype: 'UINT8', shape: [1, values.length], data: values }];
  return JSON.stringify({ id: unique(index), parameters, inputs });
}

test('gRPC requests of 128 KiB with unique ids leave no memory behind', async () => {
  await openGrpcSession();
  const growth = await growthBy(2000, async (index) => {
    expect(await inferOverGrpc({ id: unique(index), bytes: 128 * KiB })).toBe('answered');
  });
  expect(growth).toBeLessThan(boundOf('gRPC', 'HPACK', 'frames'));
});

test('names of models and tensors that do not exist leave neither memory nor series', async () => {
  await openGrpcSession();
  const series = await seriesCount();
  const growth = await growthBy(1000, async (index) => {
    const bytes = 64 * KiB;
    expect(await inferOverGrpc({ model: unique(index), bytes })).toMatch(/unknown model|not found/i);
    expect(await inferOverGrpc({ input: unique(index), bytes })).toMatch(/unexpected inference input/);
    expect(await post(inferPath(unique(index)), jsonOf(index, [1]))).toBeGreaterThanOrEqual(400);
  });
  expect(growth).toBeLessThan(boundOf('gRPC', 'HPACK', 'JSON', 'HTTP/1.1'));
  // The first refusals may make a series for each of their codes.
  expect(await seriesCount()).toBeLessThan(series + 20);
});

test('unique header names and values leave no memory behind, on HTTP/1.1 and HTTP/2', async () => {
  const session = connect(server.url.replace('localhost', '127.0.0.1'));
  await once(session, 'connect');
  const overHttp2 = async (index: number): Promise<void> => {
    const stream = session.request({ ':path': `/v2/health/live?${unique(index)}`, [`x-${index}`]: 'v'.repeat(2000) });
    stream.resume().end();
    await once(stream, 'close');
  };
  const growth = await growthBy(1000, async (index) => {
    await overHttp2(index);
    const headers = { [`x-${index}`]: 'v'.repeat(2000), 'x-trace': unique(index) };
    expect(await post(inferPath('identity_uint8'), jsonOf(index, [1]), headers)).toBe(200);
  });
  session.close();
  expect(growth).toBeLessThan(boundOf('HPACK', 'HTTP/1.1', 'JSON', 'frames'));
});

test('unique callers leave no more than their counts', async () => {
  const series = await seriesCount();
  const growth = await growthBy(3800, async (index) => {
    // A name in a long head, and one that is cut: neither may keep the head alive.
    const name = index % 2 === 0 ? unique(index) : `${index} ${'n'.repeat(4000)}`;
    const headers = { 'x-filler': 'f'.repeat(8000), 'x-caller': name };
    expect(await post(inferPath('identity_uint8'), jsonOf(index, [1]), headers)).toBe(200);
  });
  expect(growth).toBeLessThan(boundOf('callers', 'HTTP/1.1', 'JSON', 'frames'));
  // The first answers may make a series for each of their kinds.
  expect(await seriesCount()).toBeLessThan(series + 20);
});

test('unique JSON before binary tensors leaves no more than its cache', async () => {
  const bytes = 64 * KiB;
  const growth = await growthBy(600, async (index) => {
    const inputs = [{ name: 'INPUT0', datatype: 'UINT8', shape: [1, bytes], parameters: { binary_data_size: bytes } }];
    const json = Buffer.from(
      JSON.stringify({ inputs, [`unknown ${index}`]: index, parameters: { binary_data_output: true } }),
    );
    const headers = { 'inference-header-content-length': String(json.length) };
    expect(await post(inferPath('identity_uint8'), Buffer.concat([json, Buffer.alloc(bytes)]), headers)).toBe(200);
  });
  expect(growth).toBeLessThan(boundOf('JSON', 'templates', 'HTTP/1.1', 'frames'));
});

test('sequences that are never ended leave no memory behind after their idle time', async () => {
  const before = await server.keptBytes();
  await each(0, 1000, (index) => {
    const inputs = [{ name: 'INPUT', datatype: 'INT32', shape: [1, 1], data: [1] }];
    const parameters = { sequence_id: unique(index), sequence_start: true, sequence_end: index % 100 !== 0 };
    return post(inferPath('sequence_sum'), JSON.stringify({ inputs, parameters }), {
      'x-caller': `caller ${index % 50}`,
    });
  });
  while ((await server.metric('millrace_sequences_live', { model: 'sequence_sum' })) > 0) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect((await server.keptBytes()) - before).toBeLessThan(
    boundOf('sequences', 'callers', 'HTTP/1.1', 'JSON', 'frames'),
  );
  expect(await server.metric('millrace_sequence_state_bytes', { model: 'sequence_sum' })).toBe(0);
});
