/** A decoder folder is served as text in, tokens out: by unary calls, over gRPC, and as a durable stream that survives kills. */
import { getPriority } from 'node:os';
import { join } from 'node:path';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { ModelRepository, writeStorytellerFolder } from '@millrace/worker/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';
import { StreamSocketClient } from '../support/stream-socket-client.ts';

const repository = new ModelRepository();
const clients: StreamSocketClient[] = [];
let server: ServerProcess;

beforeAll(async () => {
  await writeStorytellerFolder(join(repository.path, 'story/1'));
  server = await ServerProcess.start([repository.path]);
});
afterEach(() => {
  for (const { socket } of clients.splice(0)) socket.terminate();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

const prompt = 'Once upon a time';

interface Output {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: readonly unknown[];
}

/** The outputs of a unary call, by name. */
async function inferred(parameters: object): Promise<Partial<Record<string, Output>>> {
  const inputs = [{ name: 'text_input', datatype: 'BYTES', shape: [1], data: [prompt] }];
  const answer = await fetch(`${server.url}/v2/models/story/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs, parameters }),
  });
  const body = (await answer.json()) as { readonly outputs: readonly Output[]; readonly error?: string };
  expect(body.error, String(answer.status)).toBeUndefined();
  return Object.fromEntries(body.outputs.map((output) => [output.name, output]));
}

test('a unary call gets the whole text, and the parameters of the request apply', async () => {
  const outputs = await inferred({ max_tokens: 12 });
  expect(outputs.token?.shape).toEqual([12]);
  expect(outputs.finish_reason?.data).toEqual(['length']);
  expect(outputs.output_tokens?.data).toEqual([12]);
  expect(outputs.text_output?.data[0]).toMatch(/^[\p{L}\p{P}\s]{12,}$/u);
  const stopped = await inferred({ max_tokens: 12, stop: 'a' });
  expect(stopped.finish_reason?.data).toEqual(['stop']);
});

test('the worker has a lower scheduling priority than the router', () => {
  const worker = server.workerPids('story:1').at(-1) as number;
  expect(getPriority(worker)).toBe(Math.min(19, getPriority(server.routerPid) + 5));
});

test('a wrong parameter is refused by name', async () => {
  const inputs = [{ name: 'text_input', datatype: 'BYTES', shape: [1], data: [prompt] }];
  const answer = await fetch(`${server.url}/v2/models/story/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs, parameters: { temprature: 1 } }),
  });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(/did you mean temperature/);
});

test('generate gets the whole text, and generate_stream an event for every token', async () => {
  const body = JSON.stringify({ text_input: prompt, max_tokens: 10, temperature: 1, seed: 3, stop: ['\u0000'] });
  const post = (suffix: string) => fetch(`${server.url}/v2/models/story/${suffix}`, { method: 'POST', body });
  const whole = (await (await post('generate')).json()) as Record<string, unknown>;
  expect(whole).toMatchObject({ model_name: 'story', model_version: '1', finish_reason: 'length', output_tokens: 10 });
  const streamed = await post('versions/1/generate_stream');
  expect(streamed.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = (await streamed.text()).split('\n\n').filter((event) => event !== '');
  const answers = events.map((event) => JSON.parse(event.replace(/^data: /, '')) as Record<string, unknown>);
  expect(answers.map(({ text_output }) => text_output).join('')).toBe(whole.text_output);
  expect(answers.map(({ token }) => token)).toEqual(whole.token);
});

test('ModelStreamInfer gets one answer a token, and the text of the unary call', async () => {
  const expected = await inferred({ max_tokens: 10, seed: 3, temperature: 1 });
  const client = openInferClient(server) as InferClient & {
    ModelStreamInfer(): ClientDuplexStream<
      object,
      { readonly infer_response: { readonly raw_output_contents?: readonly Buffer[] } }
    >;
  };
  const call = client.ModelStreamInfer();
  const texts: string[] = [];
  const ended = new Promise((resolve, reject) => call.on('end', resolve).on('error', reject));
  call.on('data', ({ infer_response: { raw_output_contents: [text] = [] } }) => {
    if (text !== undefined) texts.push(text.subarray(4).toString());
  });
  const bytes = Buffer.from(prompt);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  call.write({
    model_name: 'story',
    inputs: [{ name: 'text_input', datatype: 'BYTES', shape: [1] }],
    raw_input_contents: [Buffer.concat([length, bytes])],
    parameters: {
      max_tokens: { int64_param: '10' },
      seed: { int64_param: '3' },
      temperature: { double_param: 1 },
    },
  });
  call.end();
  await ended;
  client.close();
  expect(texts).toHaveLength(10);
  expect(texts.join('')).toBe(expected.text_output?.data[0]);
});

/** A counter of the generator, under our name and under that of vLLM, which must agree. */
async function counted(ours: string, vllm: string): Promise<number> {
  const value = await server.metric(ours, { model: 'story' });
  expect(await server.metric(vllm, { model_name: 'story' }), vllm).toBe(value);
  return value;
}

async function usage(): Promise<Record<'prompt' | 'output' | 'texts' | 'first' | 'gaps', number>> {
  return {
    prompt: await counted('millrace_generator_prompt_tokens_total', 'vllm:prompt_tokens_total'),
    output: await counted('millrace_generator_output_tokens_total', 'vllm:generation_tokens_total'),
    texts: await counted('millrace_generator_texts_total', 'vllm:request_success_total'),
    first: await counted('millrace_generator_first_token_seconds_count', 'vllm:time_to_first_token_seconds_count'),
    gaps: await counted('millrace_generator_inter_token_seconds_count', 'vllm:inter_token_latency_seconds_count'),
  };
}

/** What `run` adds to the counters. */
async function usageOf(run: () => Promise<unknown>): Promise<Awaited<ReturnType<typeof usage>>> {
  const before = await usage();
  await run();
  const after = await usage();
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - before[name as keyof typeof before]]),
  ) as typeof after;
}

test('metrics count the tokens of a call exactly, whatever outputs it asks for', async () => {
  // The prompt has four tokens, and one that the tokenizer puts before it.
  const expected = { prompt: 5, output: 12, texts: 1, first: 1, gaps: 11 };
  expect(await usageOf(() => inferred({ max_tokens: 12 }))).toEqual(expected);
  const textOnly = () =>
    fetch(`${server.url}/v2/models/story/infer`, {
      method: 'POST',
      body: JSON.stringify({
        inputs: [{ name: 'text_input', datatype: 'BYTES', shape: [1], data: [prompt] }],
        outputs: [{ name: 'text_output' }],
        parameters: { max_tokens: 12 },
      }),
    }).then((answer) => answer.text());
  expect(await usageOf(textOnly)).toEqual(expected);
  expect(await server.metric('millrace_generator_running_texts', { model: 'story' })).toBe(0);
  expect(await server.metric('millrace_generator_cache_bytes', { model: 'story' })).toBe(0);
  expect(await server.metric('millrace_generator_cache_max_bytes', { model: 'story' })).toBe(256 * 2 ** 20);
});

const tokens = 24;
/** A worker that takes over loads the model and probes it first. */
const takeOverMsMax = 120_000;
const parameters = { max_tokens: tokens, temperature: 1, seed: 11 };

async function connected(open: Record<string, unknown>): Promise<StreamSocketClient> {
  const client = await StreamSocketClient.connect(server.url, {});
  clients.push(client);
  client.send({ open });
  await client.received('opened');
  return client;
}

async function told(open: Record<string, unknown>): Promise<StreamSocketClient> {
  const client = await connected({ context: 'story', parameters: open });
  client.send({ input: { sequence: 1, text: prompt, endOfInput: true } });
  return client;
}

function killWorker(): void {
  process.kill(server.workerPids('story:1').at(-1) as number, 'SIGKILL');
}

test('wrong parameters are refused when a stream is opened', async () => {
  const client = await StreamSocketClient.connect(server.url, {});
  clients.push(client);
  client.send({ open: { context: 'story', parameters: { max_tokens: 8, temprature: 1 } } });
  expect(await client.closed).toMatchObject({
    code: 4001,
    reason: expect.stringMatching(/^invalid-request: parameters: unknown name 'temprature' \(did you mean temperature/),
  });
  expect(client.all('opened')).toEqual([]);
});

test('generate names a field that is no input, and the input that is missing', async () => {
  const body = JSON.stringify({ text: prompt, max_tokens: 4 });
  const answer = await fetch(`${server.url}/v2/models/story/generate`, { method: 'POST', body });
  expect([answer.status, await answer.json()]).toEqual([
    400,
    {
      error:
        "the body has no field 'text_input', which model 'story' needs as input; 'text', 'max_tokens' are no inputs of it",
    },
  ]);
});

let undisturbed: readonly Record<string, unknown>[];

test('a durable stream gets one output a token', async () => {
  const client = await told(parameters);
  expect(await client.received('ended')).toMatchObject({ outcome: 'done' });
  undisturbed = client.all('output');
  expect(undisturbed.length).toBeGreaterThanOrEqual(tokens);
});

test(
  'the text after kill -9 of the worker is that of the undisturbed stream',
  async () => {
    const added = await usageOf(async () => {
      const client = await told(parameters);
      await client.received('output', 5);
      killWorker();
      expect(await client.received('ended')).toMatchObject({ outcome: 'done' });
      expect(client.all('output')).toEqual(undisturbed);
    });
    // Nothing is counted twice; the time without a worker is no gap between two tokens.
    expect(added).toMatchObject({ prompt: 5, output: tokens, texts: 1, first: 1 });
    expect([tokens - 1, tokens - 2]).toContain(added.gaps);
  },
  takeOverMsMax,
);

test(
  'a unary call gets its whole text although its worker is killed in the middle of it',
  async () => {
    const long = { max_tokens: 160, ignore_eos: true, temperature: 1, seed: 5 };
    const whole = await inferred(long);
    const added = await usageOf(async () => {
      const before = await server.metric('millrace_generator_output_tokens_total', { model: 'story' });
      let isAnswered = false;
      const answer = inferred(long).finally(() => {
        isAnswered = true;
      });
      await eventually('some tokens came', async () => {
        return (await server.metric('millrace_generator_output_tokens_total', { model: 'story' })) > before + 3;
      });
      expect(isAnswered).toBe(false);
      killWorker();
      expect((await answer).token).toEqual(whole.token);
    });
    expect(added).toMatchObject({ prompt: 5, output: 160, texts: 1, first: 1 });
  },
  takeOverMsMax,
);

test(
  'the text after kill -9 of the router is that of the undisturbed stream',
  async () => {
    const first = await told(parameters);
    const { streamId } = await first.received('opened');
    await first.received('output', 5);
    process.kill(server.routerPid, 'SIGKILL');
    await first.closed;
    const seen = first.all('output');
    const second = await connected({ streamId, mode: 'resume', resumeAfter: seen.length });
    expect(await second.received('ended')).toMatchObject({ outcome: 'done' });
    expect([...seen, ...second.all('output')]).toEqual(undisturbed);
  },
  takeOverMsMax,
);

test(
  'a stream without a seed goes on as it began when its worker is killed: its seed was drawn at the opening',
  async () => {
    const client = await told({ max_tokens: tokens, temperature: 1.5 });
    await client.received('output', 5);
    killWorker();
    // Outputs of the second run are compared with those that were sent: another seed would end it as `replay-diverged`.
    expect(await client.received('ended')).toMatchObject({ outcome: 'done' });
  },
  takeOverMsMax,
);
