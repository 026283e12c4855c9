/** Random configurations, seed by seed: whatever is written, reading it ends in a definition or in problems that name their field. */

import { fromJsonString, toJsonString } from '@bufbuild/protobuf';
import { fromText } from '@bufbuild/protobuf/txtpb';
import { type AnalyseRows, analyseRowsOfFile, type RowVerdict } from '@millrace/onnx';
import { modelBytes, tensorInfo } from '@millrace/onnx/testing';
import { noGpuSupport } from '@millrace/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ModelConfig as ModelConfigMessage,
  ModelConfigSchema,
} from '../proto/generated/inference/model_config_pb.ts';
import { modelConfigSchema } from './config-text/model-config-schema.ts';
import { jsonFromModelConfig, readModelConfig } from './config-text/read-model-config.ts';
import type { MessageSchema, SchemaField } from './config-text/schema.ts';
import { modelDefaults, modelParameters } from './model-parameters.ts';
import { readModel } from './read-model.ts';
import { TestRepository } from './testing/test-repository.ts';

const seedCount = process.env.TEST_LONG === '1' ? 2000 : 200;

let repository: TestRepository;

beforeAll(async () => {
  repository = await TestRepository.create();
  const graphs = {
    plain: {
      inputs: [tensorInfo('x', 1, ['batch', 4]), tensorInfo('n', 6, ['batch', 1])],
      outputs: [tensorInfo('y', 1, ['batch', 4]), tensorInfo('z', 6, ['batch', 1])],
    },
    free: {
      inputs: [tensorInfo('x', 1, ['batch', 'length']), tensorInfo('n', 6, ['batch', 1])],
      outputs: [tensorInfo('y', 1, ['batch', 'length']), tensorInfo('z', 6, ['batch', 1])],
    },
    flat: {
      inputs: [tensorInfo('x', 1, ['all']), tensorInfo('n', 6, ['rows'])],
      outputs: [tensorInfo('y', 1, ['all']), tensorInfo('z', 6, ['rows', 1])],
    },
  };
  for (const [name, graph] of Object.entries(graphs)) {
    await repository.write(`${name}/1/model.onnx`, modelBytes({ ...graph, graphFields: [] }));
  }
});

afterAll(() => repository.remove());

/** A small generator of its own, so that a seed stays what it was. */
class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed * 2654435761;
  }
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  below(count: number): number {
    return Math.floor(this.next() * count);
  }
  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
  chance(share: number): boolean {
    return this.next() < share;
  }
}

const names = ['x', 'y', 'n', 'z', 'x', 'y', 'm', '', 'nobody', '../x', 'a.bin', '__proto__'];
const integers = ['0', '1', '1', '2', '4', '8', '-1', '3', '64', '1000', '2147483647', '1000000'];
const longIntegers = [...integers, '9223372036854775807', '60000000'];
const parameterKeys = [
  ...Object.keys(modelParameters),
  'millrace.pad.x',
  'millrace.unpad.y',
  'millrace.pad.n',
  'millrace.pad_ratio_max',
  'millrace.reserve.m_0',
  'millrace.threads.m_0',
  'millrace.nonsense',
  'other',
];
const parameterValues = [
  '1',
  '0',
  '2',
  '10',
  'true',
  'false',
  'inline',
  'local',
  '1=x:1',
  '',
  'x',
  '-1',
  '1e9',
  'NaN',
  '99999999999999999999',
];

function scalarText(random: Random, kind: string, field: string): string {
  if (kind === 'bool') return random.of(['true', 'false']);
  if (kind === 'string') return JSON.stringify(random.of(names));
  if (kind === 'float' || kind === 'double') return random.of(['0', '1', '0.5', '-1', 'nan', 'inf', '1e30']);
  if (field === 'dims') return random.of(['1', '4', '-1', '4', '1', '0', '-2', '1000000000000']);
  if (random.chance(0.6)) return random.of(['1', '2', '4']);
  if (kind === 'int64' || kind === 'uint64') {
    const text = random.of(longIntegers);
    return kind === 'uint64' ? text.replace('-', '') : text;
  }
  const text = random.of(integers);
  return kind === 'uint32' ? text.replace('-', '') : text;
}

function valueText(random: Random, field: SchemaField, name: string, depth: number): string {
  if (field.kind === 'enum') return random.of(field.names);
  if (field.kind === 'message') return `{ ${messageText(random, field.message, depth + 1)} }`;
  if (field.kind === 'choice-scalar') return scalarText(random, field.scalar, name);
  if (field.kind === 'list' || field.kind === 'map') throw new Error('a list has no single value');
  return scalarText(random, field.kind, name);
}

function messageText(random: Random, schema: MessageSchema, depth: number): string {
  const parts: string[] = [];
  for (const [name, field] of Object.entries(schema)) {
    if (!random.chance(depth === 0 ? 0.12 : 0.35)) continue;
    const count = field.kind === 'list' || field.kind === 'map' ? random.of([1, 1, 1, 2, 3]) : 1;
    for (let index = 0; index < count; index++) {
      if (field.kind === 'map') {
        const key =
          field.key === 'uint64'
            ? random.of(['1', '2', '3', '0', '18446744073709551615'])
            : JSON.stringify(name === 'parameters' ? random.of(parameterKeys) : random.of(names));
        const value =
          name === 'parameters' && field.value.kind === 'message'
            ? `{ string_value: ${JSON.stringify(random.of(parameterValues))} }`
            : valueText(random, field.value, name, depth);
        parts.push(`${name} { key: ${key} value: ${value} }`);
      } else {
        parts.push(`${name}: ${valueText(random, field.kind === 'list' ? field.element : field, name, depth)}`);
      }
    }
  }
  return parts.join(' ');
}

function mustField(schema: MessageSchema, name: string): SchemaField {
  const field = schema[name];
  if (field === undefined) throw new Error(`there is no field ${name}`);
  return field;
}

/** The message that a field of the configuration holds, or holds many of. */
function blockOf(name: string): MessageSchema {
  const field = mustField(modelConfigSchema, name);
  const block = field.kind === 'list' ? field.element : field;
  if (block.kind !== 'message') throw new Error(`${name} is not a block`);
  return block.message;
}

/** The parts that belong together, drawn so that many configurations are right, or nearly so. */
function likelyText(random: Random): string {
  const parts: string[] = [];
  const add = (share: number, text: () => string): void => {
    if (random.chance(share)) parts.push(text());
  };
  const free = random.of(['4', '-1']);
  add(0.9, () => `max_batch_size: ${random.of(['8', '8', '8', '1', '0', '4', '64'])}`);
  add(0.8, () => {
    const ragged = random.chance(0.2) ? ' allow_ragged_batch: true' : '';
    const n = random.chance(0.6) ? ' input { name: "n" data_type: TYPE_INT32 dims: [ 1 ] }' : '';
    return `input { name: "x" data_type: TYPE_FP32 dims: [ ${free} ]${ragged} }${n}`;
  });
  add(
    0.8,
    () =>
      `output { name: "y" data_type: TYPE_FP32 dims: [ ${free} ] } output { name: "z" data_type: TYPE_INT32 dims: [ 1 ] }`,
  );
  if (random.chance(0.5)) parts.push(`dynamic_batching { ${messageText(random, blockOf('dynamic_batching'), 1)} }`);
  else if (random.chance(0.3))
    parts.push(`sequence_batching { ${messageText(random, blockOf('sequence_batching'), 1)} }`);
  else if (random.chance(0.4)) {
    const initial = random.of(['', '1', '4', '-1', '1000000000', '1000000000000']);
    const begin =
      initial === '' ? '' : `initial_state { name: "i" data_type: TYPE_FP32 dims: [ ${initial} ] zero_data: true }`;
    const state = `state { input_name: "x" output_name: "y" data_type: TYPE_FP32 dims: [ ${free} ] ${begin} }`;
    const strategy = random.of([
      'direct { }',
      'oldest { max_candidate_sequences: 4 }',
      'oldest { max_candidate_sequences: 2147483647 }',
      '',
    ]);
    parts.push(`sequence_batching { ${strategy} ${state} }`);
  }
  add(0.2, () => `instance_group { ${messageText(random, blockOf('instance_group'), 1)} }`);
  add(0.2, () => `model_warmup { ${messageText(random, blockOf('model_warmup'), 1)} }`);
  add(
    0.2,
    () =>
      `model_warmup { name: "w" batch_size: ${random.of(['1', '2', '8'])} inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } inputs { key: "n" value { data_type: TYPE_INT32 dims: [ 1 ] random_data: true } } }`,
  );
  add(0.2, () => `batch_input { ${messageText(random, blockOf('batch_input'), 1)} }`);
  add(
    0.2,
    () =>
      `batch_input { kind: ${valueText(random, mustField(blockOf('batch_input'), 'kind'), 'kind', 1)} target_name: "n" data_type: TYPE_INT32 source_input: "x" }`,
  );
  add(0.1, () => `batch_output { ${messageText(random, blockOf('batch_output'), 1)} }`);
  add(0.15, () => 'batch_output { target_name: "y" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" }');
  add(0.2, () => `response_cache { enable: ${random.of(['true', 'false'])} }`);
  while (random.chance(0.25)) {
    parts.push(
      `parameters { key: ${JSON.stringify(random.of(parameterKeys))} value { string_value: ${JSON.stringify(random.of(parameterValues))} } }`,
    );
  }
  return parts.join('\n');
}

function configText(seed: number): { readonly graph: string; readonly text: string } {
  const random = new Random(seed);
  const graph = random.of(['plain', 'free', 'flat']);
  const text = random.chance(0.2) ? messageText(random, modelConfigSchema, 0) : likelyText(random);
  return { graph, text };
}

/** The graphs stay the same: each is analysed once. */
const verdicts = new Map<string, Promise<RowVerdict>>();
const analyseRows: AnalyseRows = (path) => {
  const verdict = verdicts.get(path) ?? analyseRowsOfFile(path);
  verdicts.set(path, verdict);
  return verdict;
};

test('random configurations are read, or refused with the field that is wrong', async () => {
  const wrong: string[] = [];
  let servedCount = 0;
  for (let seed = 1; seed <= seedCount; seed++) {
    const { graph, text } = configText(seed);
    await repository.write(`${graph}/config.pbtxt`, text);
    const path = `${repository.path}/${graph}`;
    const location = { name: graph, path, isSingleFile: false, hasConfig: true, versions: ['1'] };
    const { definition, failures } = await readModel(location, {
      gpu: noGpuSupport,
      defaults: modelDefaults,
      analyseRows,
    }).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${text}`, { cause: error });
    });
    if (definition !== undefined) servedCount += 1;
    else if (failures.length === 0) wrong.push(`seed ${seed}: not served, and no reason`);
    for (const { source, field = '', message } of failures.flatMap(({ problems }) => problems)) {
      // What is wrong with another file names that file.
      const isNamed = field !== '' || !source.endsWith('config.pbtxt');
      if (!isNamed || message === '') wrong.push(`seed ${seed}: ${JSON.stringify({ source, field, message })}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(servedCount).toBeGreaterThan(seedCount / 50);
  // Ten thousand small reads and writes of files, each of which waits for its turn on a busy machine.
}, 120_000);

/** The message that a text means to protobuf-es, which has a reader of its own; undefined: it refuses the text. */
function takeMessage(text: string): ModelConfigMessage | undefined {
  try {
    return fromText(ModelConfigSchema, text);
  } catch {
    return undefined;
  }
}

test('random configurations are taken and mean the same as in another reader of the text format', () => {
  const different: string[] = [];
  let takenCount = 0;
  for (let seed = 1; seed <= seedCount; seed++) {
    const { text } = configText(seed);
    const { config, findings } = readModelConfig(Buffer.from(text), 'config.pbtxt');
    const expected = takeMessage(text);
    if (findings.problems.length > 0 || expected === undefined) {
      if (findings.problems.length === 0) different.push(`seed ${seed}: only taken here: ${text}`);
      if (expected !== undefined) different.push(`seed ${seed}: only refused here: ${text}`);
      continue;
    }
    takenCount += 1;
    // Protobuf's JSON takes 64-bit integers as text.
    const json = JSON.stringify(jsonFromModelConfig(config), (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    const read = fromJsonString(ModelConfigSchema, json);
    const isSame = toJsonString(ModelConfigSchema, read) === toJsonString(ModelConfigSchema, expected);
    if (!isSame) different.push(`seed ${seed}: ${text}`);
  }
  expect(different).toEqual([]);
  expect(takenCount).toBeGreaterThan(seedCount / 10);
});
