/** Decoupled models: pipelines that answer a request any number of times, over ModelStreamInfer, beside models that answer once. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

const repository = new ModelRepository().write('sum/1/model.onnx', binaryModel('Add'));
const notes = join(repository.path, '..', `${repository.path.split('/').at(-1)}-notes`);
/** Gives the numbers from 0 to below `count`; a negative count never ends, and 99 fails after three. */
repository.write(
  'counter/1/pipeline.ts',
  `import { definePipeline } from 'millrace/pipeline';
import { appendFileSync } from 'node:fs';
export default definePipeline({
  inputs: { count: { datatype: 'INT32', shape: [1] } },
  outputs: { number: { datatype: 'INT32', shape: [1] } },
  async *run({ inputs }) {
    const count = inputs.count.data[0]!;
    let given = 0;
    try {
      for (; count < 0 || given < count; given++) {
        if (count === 99 && given === 3) throw new RangeError('three are enough');
        yield { number: { data: Int32Array.of(given) } };
      }
    } finally {
      appendFileSync(${JSON.stringify(notes)}, count + ' ' + given + '\\n');
    }
  },
});`,
);
/** The same numbers in one array, which it changes right after every answer; of more than a page for odd counts. */
repository.write(
  'reused/1/pipeline.ts',
  `import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { count: { datatype: 'INT32', shape: [1] } },
  outputs: { number: { datatype: 'INT32', shape: [-1] } },
  async *run({ inputs }) {
    const count = inputs.count.data[0]!;
    const data = new Int32Array(count % 2 === 0 ? 1 : 5000);
    for (let given = 0; given < count; given++) {
      data.fill(given);
      yield { number: { data } };
      data.fill(-1);
    }
  },
});`,
);
let server: ServerProcess;
let client: InferClient & { ModelStreamInfer(): ClientDuplexStream<object, StreamMessage> };
beforeAll(async () => {
  server = await ServerProcess.start([repository.path]);
  client = openInferClient(server) as typeof client;
});
afterAll(async () => {
  client.close();
  expect(await server.stop()).toBe(0);
  repository.remove();
});

interface StreamMessage {
  /** Left out where it is empty. */
  readonly error_message?: string;
  readonly infer_response: {
    readonly id: string;
    readonly model_name: string;
    readonly raw_output_contents?: readonly Buffer[];
    readonly parameters: { readonly triton_final_response?: { readonly bool_param?: boolean } };
  };
}

const count = (id: string, value: number, wantsEnd = false) => ({
  model_name: 'counter',
  id,
  inputs: [{ name: 'count', datatype: 'INT32', shape: [1] }],
  raw_input_contents: [Buffer.from(Int32Array.of(value).buffer)],
  ...(wantsEnd ? { parameters: { triton_enable_empty_final_response: { bool_param: true } } } : {}),
});
const sum = (id: string) => ({
  model_name: 'sum',
  id,
  inputs: ['left', 'right'].map((name) => ({ name, datatype: 'FP32', shape: [1, 2] })),
  raw_input_contents: [1, 2].map(() => Buffer.from(Float32Array.of(4, 5).buffer)),
});

/** `id:number`, `id.` for one that only ends, `id!message` for an error; with `*` where it is the final one. */
function written({ error_message: error = '', infer_response: answer }: StreamMessage): string {
  const final = answer.parameters.triton_final_response?.bool_param === true ? '*' : '';
  if (error !== '') return `${answer.id}!${error}${final}`;
  const data = answer.raw_output_contents?.[0];
  return data === undefined ? `${answer.id}.${final}` : `${answer.id}:${data.readInt32LE(0)}${final}`;
}

async function answersTo(...requests: readonly object[]): Promise<readonly string[]> {
  const stream = client.ModelStreamInfer();
  const answers: string[] = [];
  stream.on('data', (message: StreamMessage) => answers.push(written(message)));
  for (const request of requests) stream.write(request);
  stream.end();
  await new Promise<void>((resolve, reject) => stream.on('end', resolve).on('error', reject));
  return answers;
}

const ends = (): readonly string[] => (existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []);

describe('answers', () => {
  test.each([
    ['none', 0, []],
    ['one', 1, ['a:0']],
    ['many', 5, ['a:0', 'a:1', 'a:2', 'a:3', 'a:4']],
    ['more than may be on their way at once', 100, Array.from({ length: 100 }, (_, index) => `a:${index}`)],
  ] as const)('%s, in order, with its end told only to whoever asks', async (_, value, expected) => {
    expect(await answersTo(count('a', value))).toEqual(expected);
    expect(await answersTo(count('a', value, true))).toEqual([...expected, 'a.*']);
  });

  test.each([100, 101])('are copies: a pipeline may use its memory again (%i answers)', async (value) => {
    const expected = Array.from({ length: value }, (_, index) => `a:${index}`);
    expect(await answersTo({ ...count('a', value), model_name: 'reused' })).toEqual(expected);
  });

  test('several requests, beside ones to an ordinary model', async () => {
    const answers = await answersTo(count('a', 3, true), sum('s'), count('b', 2, true), sum('t'), count('c', 0, true));
    const of = (id: string) => answers.filter((answer) => answer.startsWith(id));
    expect([of('a'), of('b'), of('c')]).toEqual([['a:0', 'a:1', 'a:2', 'a.*'], ['b:0', 'b:1', 'b.*'], ['c.*']]);
    expect([of('s').length, of('t').length]).toEqual([1, 1]);
    expect(of('s')[0]).toMatch(/\*$/);
    expect(answers).toHaveLength(10);
  });

  test('an error after some answers ends the request, and the stream continues', async () => {
    const answers = await answersTo(count('a', 99), count('b', 1));
    expect(answers.filter((answer) => answer.startsWith('a'))).toEqual([
      'a:0',
      'a:1',
      'a:2',
      expect.stringMatching(/^a!three are enough .*\*$/),
    ]);
    expect(answers.filter((answer) => answer.startsWith('b'))).toEqual(['b:0']);
  });
});

test('a caller that stops reading pauses the model, and one that disconnects ends its run', async () => {
  const stream = client.ModelStreamInfer();
  const seen: string[] = [];
  const hundred = new Promise<void>((resolve) => {
    stream.on('data', (message: StreamMessage) => {
      seen.push(written(message));
      if (seen.length === 100) resolve();
    });
  });
  stream.on('error', () => {});
  stream.write(count('endless', -1));
  await hundred;
  stream.cancel();
  await eventually('the endless run has ended', () => ends().some((line) => line.startsWith('-1 ')));
  expect(seen.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => `endless:${index}`));
});

test('a worker that dies after an answer fails that request, and others run on another worker', async () => {
  const stream = client.ModelStreamInfer();
  const seen: string[] = [];
  const failed = new Promise<string>((resolve) => {
    stream.on('data', (message: StreamMessage) => {
      const answer = written(message);
      if (answer.startsWith('doomed!')) resolve(answer);
      else if (seen.push(answer) === 1) for (const pid of server.workerPids('counter:1')) process.kill(pid, 'SIGKILL');
    });
  });
  stream.write(count('doomed', -1));
  expect(await failed).toMatch(/^doomed!.*ended after a part of the answer was sent; send the request again\*$/);
  stream.end();
  stream.resume();
  await new Promise((resolve) => stream.on('end', resolve));
  expect(await answersTo(count('after', 2))).toEqual(['after:0', 'after:1']);
});

describe('calls that carry one answer refuse it', () => {
  test('ModelInfer', async () => {
    const error = await new Promise<string>((resolve) => {
      client.ModelInfer(count('a', 1), (problem) => resolve(problem?.details ?? 'answered'));
    });
    expect(error).toContain("doesn't support models with decoupled transaction policy");
  });

  test('REST', async () => {
    const body = JSON.stringify({ inputs: [{ name: 'count', datatype: 'INT32', shape: [1], data: [1] }] });
    const answer = await fetch(`${server.url}/v2/models/counter/infer`, { method: 'POST', body });
    expect([answer.status, await answer.text()]).toEqual([
      501,
      expect.stringContaining("doesn't support models with decoupled transaction policy"),
    ]);
  });

  test('its configuration says so', async () => {
    const answer = await fetch(`${server.url}/v2/models/counter/config`);
    expect(await answer.json()).toMatchObject({ model_transaction_policy: { decoupled: true } });
  });
});
