/** The models of the run and what streams send them. A plan is a list of inputs; many streams follow the same one. */
import { join } from 'node:path';
import type { JsonObject, StreamPayload, Tensor } from '@millrace/protocol';
import { ModelRepository } from '@millrace/worker/testing';
import type { FuzzRandom } from '../../fuzz/random.ts';
import { repositoryRoot } from '../../support/repository-root.ts';

export interface StreamPlan {
  readonly name: string;
  readonly model: string;
  /** False: its streams may end with their worker. */
  readonly isResumable: boolean;
  readonly inputs: readonly StreamPayload[];
  /** Of the opening. */
  readonly parameters: JsonObject;
  /** The end of the inputs is an input of its own, without a payload. */
  readonly endsEmpty: boolean;
}

export const modelNames = ['listener_tensors', 'counter', 'counter_once', 'mlp', 'storyteller'] as const;
/** Those that every edge carries: stateful, decoupled with and without a resume, and a generator. */
export const streamedModels = ['listener_tensors', 'counter', 'counter_once', 'storyteller'] as const;

/** Gives `count` outputs of eight numbers that follow from the seed, the first at once and the others after a pause each. */
const counterPipeline = `import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: {
    seed: { datatype: 'INT32', shape: [1] },
    count: { datatype: 'INT32', shape: [1] },
    pause: { datatype: 'INT32', shape: [1] },
  },
  outputs: { values: { datatype: 'INT32', shape: [8] } },
  async *run({ inputs }) {
    const pause = inputs.pause.data[0]!;
    let state = inputs.seed.data[0]!;
    for (let given = 0; given < inputs.count.data[0]!; given++) {
      if (given > 0 && pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
      const values = new Int32Array(8);
      for (let index = 0; index < 8; index++) values[index] = state = (Math.imul(state, 1664525) + 1013904223) | 0;
      yield { values: { data: values } };
    }
  },
});`;

/** The tensors stand here too, so that the module is not run to find out: a router starts sooner. */
function counterConfig(name: string, isResumable: boolean): string {
  const input = (tensor: string): string => `input { name: "${tensor}" data_type: TYPE_INT32 dims: [ 1 ] }`;
  const parameter = (key: string, value: string): string =>
    `parameters { key: "millrace.${key}" value { string_value: "${value}" } }`;
  return [
    `name: "${name}"`,
    'backend: "pipeline"',
    ...['seed', 'count', 'pause'].map(input),
    'output { name: "values" data_type: TYPE_INT32 dims: [ 8 ] }',
    'model_transaction_policy { decoupled: true }',
    parameter('concurrency', '256'),
    parameter('resumable', `${isResumable}`),
    '',
  ].join('\n');
}

/** A repository with the five models, to be removed by the caller. */
export function writeStreamModels(): ModelRepository {
  const repository = new ModelRepository()
    .copy(join(repositoryRoot, 'models/listener_tensors'))
    .copy(join(repositoryRoot, 'models/storyteller'))
    .copy(join(repositoryRoot, 'tests/models/mlp'));
  for (const [name, isResumable] of [
    ['counter', true],
    ['counter_once', false],
  ] as const) {
    repository
      .write(`${name}/1/pipeline.ts`, counterPipeline)
      .write(`${name}/config.pbtxt`, counterConfig(name, isResumable));
  }
  return repository;
}

/** Long enough for faults to hit them, and short enough to be repeated before a client gives its connection up. */
const generatePauseMs = 5;

/** `seconds`: how long streams of the long plans are kept busy, with an input every `paceMs`. */
export function plansFor(random: FuzzRandom, seconds: number, paceMs: number): readonly StreamPlan[] {
  const longInputs = Math.ceil((seconds * 1000) / paceMs);
  const shortInputs = (): number => 8 + random.below(24);
  const plan = (
    name: string,
    model: string,
    count: number,
    input: (index: number) => StreamPayload,
    isResumable = true,
    parameters: JsonObject = {},
  ): StreamPlan => ({
    name,
    model,
    isResumable,
    inputs: Array.from({ length: count }, (_, index) => input(index)),
    parameters,
    endsEmpty: random.below(2) === 0,
  });
  const plans: StreamPlan[] = [];
  for (const kind of ['short', 'short', 'short', 'long'] as const) {
    const count = kind === 'short' ? shortInputs() : longInputs;
    const number = plans.length;
    plans.push(plan(`listener-${kind}-${number}`, 'listener_tensors', count, () => audio(random)));
    plans.push(plan(`mlp-${kind}-${number}`, 'mlp', count, () => features(random)));
    plans.push(plan(`counter-${kind}-${number}`, 'counter', count, () => counting(random)));
    plans.push(plan(`once-${kind}-${number}`, 'counter_once', shortInputs(), () => counting(random), false));
  }
  // One input: what edges without further inputs can send.
  plans.push(plan('listener-one', 'listener_tensors', 1, () => audio(random)));
  for (const count of [300, 600]) {
    plans.push(plan(`generate-${count}`, 'counter', 1, () => counting(random, count, generatePauseMs)));
    plans.push(
      plan(`generate-once-${count}`, 'counter_once', 1, () => counting(random, count, generatePauseMs), false),
    );
  }
  for (let number = 0; number < storyPlans; number++) {
    const count = number < storyPlans / 2 ? 1 : 2 + random.below(4);
    plans.push(plan(`story-${number}`, 'storyteller', count, () => opening(random), true, storyParameters(random)));
  }
  const storyInputs = Math.ceil(seconds / secondsAStory);
  plans.push(plan('story-long-0', 'storyteller', storyInputs, () => opening(random), true, storyParameters(random)));
  return plans;
}

const storyPlans = 16;
/** About, where many are told at once. */
const secondsAStory = 4;
const openings = [
  'Once upon a time',
  'Tell me a story about a fox named Mira and a kite.\n\n',
  'It was the coldest day of the year.',
  'The Lost Compass\n\n',
  'Nobody at the harbour could say',
  // Read in several pieces.
  `Everyone in the village knew ${'the old lamp and '.repeat(30)}the baker.`,
];

function opening(random: FuzzRandom): StreamPayload {
  return { kind: 'text', text: random.pick(openings) };
}

/** Some are not random, and some end by a stop string. */
function storyParameters(random: FuzzRandom): JsonObject {
  const length = { max_tokens: 8 + random.below(56) };
  if (random.oneIn(4)) return { ...length, temperature: 0 };
  const drawn = { ...length, temperature: 1, seed: random.below(2 ** 31) };
  return random.oneIn(4) ? { ...drawn, top_p: 0.95, stop: ['.'] } : drawn;
}

function audio(random: FuzzRandom): StreamPayload {
  const samples = Float32Array.from({ length: 320 }, () => random.below(2000) / 1000 - 1);
  return tensors({ name: 'audio', datatype: 'FP32', shape: [1, 320], data: bytesOf(samples) });
}

function features(random: FuzzRandom): StreamPayload {
  const numbers = Float32Array.from({ length: 64 }, () => random.below(1000) / 500 - 1);
  return tensors({ name: 'input', datatype: 'FP32', shape: [1, 64], data: bytesOf(numbers) });
}

function counting(
  random: FuzzRandom,
  count = 1 + random.below(24),
  pauseMs = random.pick([0, 0, 5, 20]),
): StreamPayload {
  const one = (name: string, value: number): Tensor => ({
    name,
    datatype: 'INT32',
    shape: [1],
    data: bytesOf(Int32Array.of(value)),
  });
  return tensors(one('seed', random.below(2 ** 31)), one('count', count), one('pause', pauseMs));
}

function tensors(...list: readonly Tensor[]): StreamPayload {
  return { kind: 'tensors', tensors: list };
}

function bytesOf(values: Float32Array | Int32Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}
