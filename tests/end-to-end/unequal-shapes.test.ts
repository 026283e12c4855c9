/** Requests of unequal lengths in one batch of a real ONNX model: padded and cut back, and ragged. */
import { ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NamedValues } from '../support/golden.ts';
import { type CallAnswer, inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;

/** Three requests make a batch, however far apart they come. */
const batching = 'dynamic_batching { preferred_batch_size: 3 max_queue_delay_microseconds: 60000000 }';
const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`;

beforeAll(async () => {
  const value = (name: string, datatype: 'FP32' | 'INT32', shape: readonly (number | string)[]) => ({
    name,
    datatype,
    shape,
  });
  // Twice the tokens, their sum over the row with its padding, and how long each row was.
  const padded = onnxModelFrom({
    inputs: [value('tokens', 'FP32', ['batch', 'length']), value('lengths', 'INT32', ['batch', 1])],
    outputs: [
      value('doubled', 'FP32', ['batch', 'length']),
      value('sum', 'FP32', ['batch', 1]),
      value('told', 'INT32', ['batch', 1]),
    ],
    nodes: [
      { operator: 'Add', inputs: ['tokens', 'tokens'], outputs: ['doubled'] },
      { operator: 'ReduceSum', inputs: ['tokens', 'axis'], outputs: ['sum'], attributes: { keepdims: 1 } },
      { operator: 'Identity', inputs: ['lengths'], outputs: ['told'] },
    ],
    constants: [{ name: 'axis', datatype: 'INT64', shape: [1], data: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0) }],
  });
  models.write('padded/1/model.onnx', padded).write(
    'padded/config.pbtxt',
    `max_batch_size: 8 ${batching}
     input { name: "tokens" data_type: TYPE_FP32 dims: [ -1 ] }
     output { name: "doubled" data_type: TYPE_FP32 dims: [ -1 ] }
     output { name: "sum" data_type: TYPE_FP32 dims: [ 1 ] }
     output { name: "told" data_type: TYPE_INT32 dims: [ 1 ] }
     batch_input { kind: BATCH_ITEM_SHAPE target_name: "lengths" data_type: TYPE_INT32 source_input: "tokens" }
     model_warmup { name: "two rows" batch_size: 2 inputs { key: "tokens" value { data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } }
     ${parameter('millrace.pad.tokens', '100')} ${parameter('millrace.pad_ratio_max', '10')}
     ${parameter('millrace.unpad.doubled', '1=tokens:1')}`,
  );
  const ragged = onnxModelFrom({
    inputs: [value('tokens', 'FP32', ['all']), value('ends', 'FP32', ['requests'])],
    outputs: [value('doubled', 'FP32', ['all']), value('told', 'FP32', ['requests', 1])],
    nodes: [
      { operator: 'Add', inputs: ['tokens', 'tokens'], outputs: ['doubled'] },
      { operator: 'Unsqueeze', inputs: ['ends', 'axis'], outputs: ['told'] },
    ],
    constants: [{ name: 'axis', datatype: 'INT64', shape: [1], data: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0) }],
  });
  models.write('ragged/1/model.onnx', ragged).write(
    'ragged/config.pbtxt',
    `max_batch_size: 8 ${batching}
     input { name: "tokens" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
     output { name: "doubled" data_type: TYPE_FP32 dims: [ -1 ] }
     output { name: "told" data_type: TYPE_FP32 dims: [ 1 ] }
     batch_input { kind: BATCH_ACCUMULATED_ELEMENT_COUNT target_name: "ends" data_type: TYPE_FP32 source_input: "tokens" }
     batch_output { target_name: "doubled" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "tokens" }`,
  );
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

const tokens = (values: readonly number[]): readonly NamedValues[] => [
  { name: 'tokens', datatype: 'FP32', shape: [1, values.length], values },
];
const output = (answer: CallAnswer, name: string) => answer.outputs.find((one) => one.name === name);

async function inOneBatch(model: string): Promise<readonly CallAnswer[]> {
  const sent = [[1, 2, 3, 4, 5], [6], [7, 8]];
  const answers = await Promise.all(sent.map((values) => inferOverRest(server.url, model, tokens(values))));
  expect(answers.map(({ error }) => error)).toEqual(['', '', '']);
  expect(await server.metric('millrace_batch_rows_count', { model })).toBe(1);
  expect(answers.map((answer) => output(answer, 'doubled')?.values)).toEqual([[2, 4, 6, 8, 10], [12], [14, 16]]);
  expect(answers.map((answer) => output(answer, 'doubled')?.shape)).toEqual([
    [1, 5],
    [1, 1],
    [1, 2],
  ]);
  return answers;
}

test('padded requests run in one batch, with their lengths told, and get answers of their own length', async () => {
  const answers = await inOneBatch('padded');
  expect(answers.map((answer) => output(answer, 'told')?.values)).toEqual([[5], [1], [2]]);
  // The model saw the padding: that is why it is told the lengths.
  expect(answers.map((answer) => output(answer, 'sum')?.values)).toEqual([[15], [406], [315]]);
});

test('ragged requests run in one batch, with their ends told, and get their own part of the list', async () => {
  const answers = await inOneBatch('ragged');
  const ends = answers.map((answer) => output(answer, 'told')?.values[0] as number);
  const lengths = [5, 1, 2];
  // In whatever order they came, each ends where the ones before it and itself do.
  const order = [0, 1, 2].sort((a, b) => (ends[a] as number) - (ends[b] as number));
  let end = 0;
  for (const index of order) {
    end += lengths[index] as number;
    expect(ends[index]).toBe(end);
  }
  expect(end).toBe(8);
});
