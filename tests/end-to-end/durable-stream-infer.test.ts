/** ModelStreamInfer with `stream_id`: durable streams for Triton's clients, cut, and with workers and routers that die. */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { runningTotal, writeRunningTotal } from '../support/running-total.ts';
import { ServerProcess } from '../support/server-process.ts';

const repository = writeRunningTotal(new ModelRepository());
/** Gives the numbers from 0 to below `count`, and can repeat itself. */
repository.write(
  'counter/1/pipeline.ts',
  `import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { count: { datatype: 'INT32', shape: [1] } },
  outputs: { number: { datatype: 'INT32', shape: [1] } },
  async *run({ inputs }) {
    for (let given = 0; given < inputs.count.data[0]!; given++) yield { number: { data: Int32Array.of(given) } };
  },
});`,
);
repository.write(
  'counter/config.pbtxt',
  `name: "counter"
model_transaction_policy { decoupled: true }
parameters { key: "millrace.resumable" value { string_value: "true" } }
`,
);

interface StreamMessage {
  readonly error_message?: string;
  readonly infer_response: {
    readonly id: string;
    readonly model_version: string;
    readonly raw_output_contents?: readonly Buffer[];
    readonly parameters: Readonly<Record<string, Parameter | undefined>>;
  };
}

interface Parameter {
  readonly bool_param?: boolean;
  readonly int64_param?: { toNumber(): number };
  readonly string_param?: string;
}

type StreamClient = InferClient & { ModelStreamInfer(): ClientDuplexStream<object, StreamMessage> };
type Values = Readonly<Record<string, string | number | boolean>>;

let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start([repository.path]);
}, 60_000);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

function parametersOf(values: Values): Readonly<Record<string, object>> {
  const written = (value: string | number | boolean): object => {
    if (typeof value === 'string') return { string_param: value };
    return typeof value === 'boolean' ? { bool_param: value } : { int64_param: value };
  };
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, written(value)]));
}

/** One call on a connection of its own. */
class Call {
  readonly got: StreamMessage[] = [];
  /** The status it ended with. */
  readonly over: Promise<number>;
  readonly #client: StreamClient;
  readonly #call: ClientDuplexStream<object, StreamMessage>;

  constructor() {
    this.#client = openInferClient(server) as StreamClient;
    this.#call = this.#client.ModelStreamInfer();
    this.#call.on('data', (message: StreamMessage) => this.got.push(message));
    this.over = new Promise((resolve) => {
      this.#call.on('end', () => resolve(0)).on('error', (error: { code?: number }) => resolve(error.code ?? -1));
    });
    void this.over.then(() => this.#client.close());
  }

  /** Adds `value` to the running total of the stream. */
  add(stream: string, value: number, values: Values = {}): void {
    this.#send(runningTotal, { name: 'value', datatype: 'FP32', shape: [1, 1] }, Float32Array.of(value), {
      stream_id: stream,
      stream_sequence: value,
      ...values,
    });
  }

  count(stream: string, number: number, values: Values = {}): void {
    const input = { name: 'count', datatype: 'INT32', shape: [1] };
    this.#send('counter', input, Int32Array.of(number), { stream_id: stream, ...values });
  }

  /** An input for any model. */
  infer(model: string, stream: string): void {
    const input = { name: 'value', datatype: 'FP32', shape: [1] };
    this.#send(model, input, Float32Array.of(1), { stream_id: stream, stream_sequence: 1 });
  }

  /** Sends no input. */
  say(stream: string, values: Values = {}, model = runningTotal): void {
    this.#call.write({ model_name: model, id: 'say', parameters: parametersOf({ stream_id: stream, ...values }) });
  }

  async outputs(count: number): Promise<void> {
    await eventually(`${count} answers have come`, () => this.got.length >= count);
  }

  /** No request follows. */
  end(): Promise<number> {
    this.#call.end();
    return this.over;
  }

  /** As a client that has lost its network: no goodbye, and the connection with it. */
  async cut(): Promise<void> {
    this.#call.cancel();
    await this.over;
  }

  #send(model: string, input: object, data: Float32Array | Int32Array, values: Values): void {
    this.#call.write({
      model_name: model,
      id: `request ${values.stream_sequence}`,
      inputs: [input],
      raw_input_contents: [Buffer.from(data.buffer)],
      parameters: parametersOf(values),
    });
  }
}

/** Output, input and value of an answer, or what it says otherwise. */
function written({ error_message: error = '', infer_response: answer }: StreamMessage): unknown {
  if (error !== '') return error;
  const { parameters, raw_output_contents: data = [] } = answer;
  const number = (key: string): number | undefined => parameters[key]?.int64_param?.toNumber();
  const outcome = parameters.stream_outcome?.string_param;
  if (outcome !== undefined) return `${outcome} after ${number('stream_outputs')}`;
  if (parameters.stream_accepted !== undefined) return `accepted ${number('stream_accepted')}`;
  return [number('stream_output'), number('stream_sequence'), data[0]?.readFloatLE(0)];
}

const totals = [
  [1, 1, 1],
  [2, 2, 3],
  [3, 3, 6],
  [4, 4, 10],
  [5, 5, 15],
  [6, 6, 21],
];

/** Sends the inputs after those it has seen; those that are durable are ignored. */
function resume(stream: string, seen: readonly StreamMessage[]): Call {
  const call = new Call();
  for (let value = seen.length + 1; value <= 6; value++) {
    call.add(stream, value, { stream_resume_after: seen.length, stream_end: value === 6 });
  }
  return call;
}

/** The stream gave every output once, whatever happened in between. */
async function expectTheRest(stream: string, seen: readonly StreamMessage[]): Promise<void> {
  const call = resume(stream, seen);
  expect(await call.end()).toBe(0);
  expect([...seen, ...call.got].map(written)).toEqual([...totals, 'done after 6']);
  expect(call.got.slice(0, -1).map(({ infer_response }) => infer_response.id)).toEqual(
    totals.slice(seen.length).map(([, input]) => `request ${input}`),
  );
}

describe('a durable stream over ModelStreamInfer', () => {
  test('answers its inputs, and says that it is done', async () => {
    const call = new Call();
    for (let value = 1; value <= 6; value++) call.add('undisturbed-stream', value, { stream_end: value === 6 });
    expect(await call.end()).toBe(0);
    expect(call.got.map(written)).toEqual([...totals, 'done after 6']);
    expect(call.got[0]?.infer_response).toMatchObject({ id: 'request 1', model_version: '1' });
  });

  test('goes on after a cut, a worker and a router that were killed', async () => {
    const first = new Call();
    for (let value = 1; value <= 2; value++) first.add('troubled-stream', value);
    await first.outputs(2);
    await first.cut();
    let seen = first.got.slice(0, 2);

    const second = new Call();
    second.add('troubled-stream', 3, { stream_resume_after: 2 });
    await second.outputs(1);
    const worker = server.records.findLast(({ message }) => message === 'worker ready')?.pid as number;
    process.kill(worker, 'SIGKILL');
    // The router runs the input on another worker; the client sees nothing of it.
    second.add('troubled-stream', 4);
    await second.outputs(2);
    process.kill(server.routerPid, 'SIGKILL');
    expect(await second.over).not.toBe(0);
    seen = [...seen, ...second.got];
    expect(seen.map(written)).toEqual(totals.slice(0, 4));
    await expectTheRest('troubled-stream', seen);
  });

  test('is resumed without an input, and ends again for whoever asks', async () => {
    const first = new Call();
    for (let value = 1; value <= 6; value++) first.add('told-again-stream', value, { stream_end: value === 6 });
    await first.end();
    const second = new Call();
    second.say('told-again-stream', { stream_resume_after: 4 });
    expect(await second.end()).toBe(0);
    expect(second.got.map(written)).toEqual(['accepted 6', ...totals.slice(4), 'done after 6']);
  });

  test('stays open when its call ends, after the answers', async () => {
    const first = new Call();
    for (let value = 1; value <= 3; value++) first.add('half-closed-stream', value);
    expect(await first.end()).toBe(0);
    expect(first.got.map(written)).toEqual(totals.slice(0, 3));
    await expectTheRest('half-closed-stream', first.got);
  });

  test('of a decoupled model resumes in the middle of an answer', async () => {
    const first = new Call();
    first.count('counting-stream', 40, { stream_end: true, triton_enable_empty_final_response: true });
    await first.outputs(41);
    await first.cut();
    const second = new Call();
    second.say('counting-stream', { stream_resume_after: 38, triton_enable_empty_final_response: true }, 'counter');
    expect(await second.end()).toBe(0);
    const numbers = second.got.map(({ infer_response: { raw_output_contents: data, parameters } }) => [
      data?.[0]?.readInt32LE(0),
      parameters.stream_output?.int64_param?.toNumber(),
      parameters.triton_final_response?.bool_param,
    ]);
    expect(numbers.slice(1)).toEqual([
      [38, 39, false],
      [39, 40, false],
      [undefined, 41, true],
      [undefined, undefined, true],
    ]);
  });

  test('runs beside others and beside plain requests on one call', async () => {
    const call = new Call();
    for (const value of [1, 2]) for (const stream of ['left-stream', 'right-stream']) call.add(stream, value);
    expect(await call.end()).toBe(0);
    const of = (stream: string): readonly unknown[] =>
      call.got
        .filter(({ infer_response }) => infer_response.parameters.stream_id?.string_param === stream)
        .map(written);
    expect([of('left-stream'), of('right-stream')]).toEqual([totals.slice(0, 2), totals.slice(0, 2)]);
  });

  test('that cannot be opened, or that another call has taken, says why', async () => {
    const call = new Call();
    call.say('unknown-stream-of-a-model', {}, 'nobody');
    call.say('a-stream-that-is-not-there');
    expect(await call.end()).toBe(0);
    expect(call.got.map(written)).toEqual([
      expect.stringMatching(/^stream-not-found: .*\[stream_id: unknown-stream-of-a-model\]$/),
      expect.stringMatching(/^stream-not-found: /),
    ]);
    const unknown = new Call();
    unknown.infer('nobody', 'a-stream-of-nobody');
    await unknown.end();
    expect(unknown.got.map(written)).toEqual([expect.stringMatching(/^unknown-model: /)]);
    const first = new Call();
    first.add('taken-stream', 1);
    await first.outputs(1);
    const second = new Call();
    second.say('taken-stream', { stream_resume_after: 1 });
    await first.outputs(2);
    expect(written(first.got[1] as StreamMessage)).toMatch(/^stream-superseded: /);
    expect([await first.end(), await second.end()]).toEqual([0, 0]);
  });
});
