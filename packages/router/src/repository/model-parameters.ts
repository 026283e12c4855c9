/** The `parameters` of a model configuration that Millrace reads, and what they mean. */
import type { CallerRunsMax } from '@millrace/core';
import type { LaneChoice } from '../model/model-definition.ts';
import { batchParameter, reportedParameters } from '../model/run-sharing.ts';
import { padPrefix, padRatioMaxDefault, padRatioRange, unpadPrefix } from './batch-shaping/read-padding.ts';
import { batchChoices } from './batching-choice.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { suggestionFor } from './config-text/suggestion.ts';
import { takeQueueSize } from './dynamic-batching.ts';
import { gpuBatchSizesParameter } from './gpu-batch-sizes.ts';
import { groupThreadsMax, reservePrefix, threadsPrefix } from './group-parameters.ts';
import { type ParameterKind, valueProblem } from './parameter-kind.ts';
import { streamStatesParameter } from './stream-states.ts';

/** The settings of a model whose configuration does not set them. */
export interface ModelDefaults {
  readonly lane: LaneChoice;
  /** Models may not ask for the inline lane: workers run as a user of their own, and it would not be that one. */
  readonly isInlineRefused?: boolean;
  readonly runMsMax: number;
  readonly queueRequestsMax: number;
  readonly queueBytesMax: number;
  /** A request that would wait longer is refused; Infinity: none is. */
  readonly waitMsMax: number;
}

export const modelDefaults: ModelDefaults = {
  lane: 'local',
  runMsMax: 60_000,
  queueRequestsMax: 4096,
  queueBytesMax: 256 * 1024 * 1024,
  waitMsMax: Number.POSITIVE_INFINITY,
};

export interface ModelSettings extends ModelDefaults {
  /** Models of one group share worker processes. */
  readonly workerGroup: string;
  /** The group was named, so that other models may be in it. */
  readonly isGroupShared: boolean;
  /** A worker may hold it beside other small models. */
  readonly sharesWorker: boolean;
  /** Workers beyond the instances that are kept loaded, and used when one of the others is gone. */
  readonly warmSpares: number;
  /** Target for the 99th percentile of latency; Infinity: no target. */
  readonly latencyTargetMs: number;
  /** Share of workers that other models want too. */
  readonly weight: number;
  /** Threads of one instance; 0: the server divides the machine's cores. */
  readonly threads: number;
  readonly isSpinning: boolean;
  /** Sequences that may wait for a slot. */
  readonly sequenceBacklogMax: number;
  readonly sequenceSlotWaitMsMax: number;
  /** Of the implicit state of all sequences together. */
  readonly sequenceStateBytesMax: number;
  /** Requests that one worker runs at once, of a model that lets it. */
  readonly concurrency: number;
  /** How many of them may be of one caller, of a model with several answers to a request. */
  readonly callerRunsMax: CallerRunsMax;
  /** For how long its runs stay unread before they give way. */
  readonly unreadMsMax: number;
  /** Of the keys and values of all texts of a generator. */
  readonly generatorCacheBytesMax: number;
}

const sequenceBacklogMaxDefault = 1024;
const sequenceSlotWaitMsMaxDefault = 30_000;
const sequenceStateBytesMaxDefault = 256 * 1024 * 1024;

export const parameterPrefix = 'millrace.';
export const concurrencyParameter = 'millrace.concurrency';
export const callerConcurrencyParameter = 'millrace.caller_concurrency_max';
export const unreadParameter = 'millrace.unread_ms_max';
export const generatorCacheBytesParameter = 'millrace.generator_cache_bytes_max';
export const resumableParameter = 'millrace.resumable';
const warmSpareParameter = 'millrace.warm_spare';
const concurrencyDefault = 32;
const generatorCacheBytesMaxDefault = 256 * 1024 * 1024;
const unreadMsMaxDefault = 10_000;
const warmSparesMax = 16;

export const modelParameters = {
  'millrace.lane': {
    meaning: 'where the model runs: `local`, in a worker process; `inline`, in the server itself, for tiny models only',
    without: '`worker.lane`',
    choices: ['local', 'inline'],
  },
  [batchParameter]: {
    meaning:
      'whether requests of different callers share runs: `auto`, where the rows of the graph are proven independent or the configuration says so (`dynamic_batching`, `sequence_batching`); `always`, whatever was proven; `never`',
    without: '`auto`',
    choices: batchChoices,
  },
  'millrace.worker_group': {
    meaning: 'models with the same group share worker processes',
    without: 'processes of its own',
    form: /^[A-Za-z0-9_.-]{1,64}$/,
  },
  'millrace.run_ms_max': {
    meaning: 'a run that takes longer, in milliseconds, is ended together with its worker',
    without: '`worker.runSecondsMax`',
    range: [1, 86_400_000],
  },
  'millrace.queue_requests_max': {
    meaning: 'requests that may wait; one more is refused',
    without: '`queue.modelRequestsMax`',
    range: [1, 1_000_000],
  },
  'millrace.queue_bytes_max': {
    meaning: 'bytes of input that may wait; a request beyond is refused',
    without: '`queue.modelBytesMax`',
    range: [1, 2 ** 40],
  },
  'millrace.wait_ms_max': {
    meaning: 'a request whose estimated wait is longer, in milliseconds, is refused at once; 0: none is',
    without: '`queue.waitMsMax`, or the latency target where that is less',
    range: [0, 86_400_000],
  },
  'millrace.latency_target_ms': {
    meaning:
      'the server finds by itself the rows of a batch and the number of instances in use with which 99 of 100 requests take at most so many milliseconds',
    without: 'nothing is limited for it',
    range: [1, 600_000],
  },
  'millrace.weight': {
    meaning:
      'share of worker time when other models of the group compete for it: weight 3 gets three times as much as weight 1',
    without: '1',
    range: [1, 1000],
  },
  'millrace.threads': {
    meaning: 'threads that one instance computes with; 0: the server divides the cores',
    without: '`worker.threads`',
    range: [0, 1024],
  },
  [gpuBatchSizesParameter]: {
    meaning: 'the rows that runs on a GPU have; smaller batches are filled up. Each size takes a copy of the weights',
    without:
      '1 and `max_batch_size` halved down to 8, for models with convolutions and those on TensorRT; otherwise `any`',
    takes: '`any`, or sizes with commas, the last the `max_batch_size`',
  },
  'millrace.concurrency': {
    meaning: 'requests of a pipeline or a generator that one worker process runs at once',
    without: `${concurrencyDefault}, for a generator 256`,
    range: [1, 256],
  },
  [callerConcurrencyParameter]: {
    meaning:
      'of a generator or a decoupled pipeline: how many of `millrace.concurrency` requests may be of one caller; further ones of it wait, and those of others overtake them',
    without: 'a share: up to about 38 % while nobody else has any, and less the more callers have',
    range: [1, 256],
  },
  [unreadParameter]: {
    meaning:
      'of a generator or a decoupled pipeline: a request whose answers were not read for so many milliseconds gives way when another waits that could run instead; 0: none does',
    without: `${unreadMsMaxDefault}; 0 for a pipeline without \`millrace.resumable\``,
    range: [0, 86_400_000],
  },
  [generatorCacheBytesParameter]: {
    meaning:
      'of a generator: bytes that the keys and values of all its texts may take in one worker process; texts beyond that wait',
    without: `${generatorCacheBytesMaxDefault / 2 ** 20} MiB`,
    range: [1, 2 ** 40],
  },
  'millrace.pad_ratio_max': {
    meaning: 'with millrace.pad.INPUT: sizes that differ by this factor or more are not padded to each other',
    without: `${padRatioMaxDefault}`,
    takes: `a number from ${padRatioRange.join(' to ')}`,
  },
  'millrace.cache_shared': {
    meaning:
      'with response_cache, whether a cached result may be returned to callers other than the one whose request produced it',
    without: 'false',
    choices: ['true', 'false'],
  },
  'millrace.share_worker': {
    meaning: 'whether a small model may run in a worker process that also runs others; `false` gives it one of its own',
    without: 'true, unless `worker.sharing` is off',
    choices: ['true', 'false'],
  },
  [warmSpareParameter]: {
    meaning:
      'worker processes beyond the instances that are kept loaded and warmed up: one of them takes over at once when a worker of the model dies. A model with a spare shares no worker',
    without: '0',
    range: [0, warmSparesMax],
  },
  [streamStatesParameter]: {
    meaning:
      'outputs that carry the state of a stream, and the inputs that take it with the next step; the first step gets zeros. Clients of a stream neither send nor get these tensors',
    without: 'streams of the model have no state',
    takes: '`INPUT=OUTPUT`, several with commas',
  },
  [resumableParameter]: {
    meaning:
      'of a decoupled model: the same request gives the same answers again, so that its streams survive the death of a worker or the server',
    without: 'false',
    choices: ['true', 'false'],
  },
  'millrace.spinning': {
    meaning:
      'whether waiting threads spin and keep their core busy: faster when the model has the machine to itself, much slower when not',
    without: 'false',
    choices: ['true', 'false'],
  },
  'millrace.sequence_backlog_max': {
    meaning: 'sequences that may wait for a slot; one more is refused',
    without: `${sequenceBacklogMaxDefault}`,
    range: [0, 1_000_000],
  },
  'millrace.sequence_slot_wait_ms_max': {
    meaning: 'a sequence that has waited so long for a slot, in milliseconds, is refused',
    without: `${sequenceSlotWaitMsMaxDefault}`,
    range: [1, 86_400_000],
  },
  'millrace.sequence_state_bytes_max': {
    meaning: 'bytes that the implicit state of all sequences may have',
    without: `${sequenceStateBytesMaxDefault / 2 ** 20} MiB`,
    range: [1, 2 ** 40],
  },
} as const satisfies Record<string, ParameterKind>;

interface ParameterFamily extends Pick<ParameterKind, 'meaning' | 'without'> {
  readonly prefix: string;
  /** What the rest of the parameter's name refers to. */
  readonly of: string;
  readonly takes: string;
}

/** Parameters whose names end in the name of a tensor or an instance group, read where those are known. */
export const parameterFamilies: readonly ParameterFamily[] = [
  {
    prefix: padPrefix,
    of: 'INPUT',
    meaning: 'free sizes of the input are padded with this value to the longest of a batch',
    without: 'requests of equal shapes share a batch',
    takes: "a value of the input's datatype",
  },
  {
    prefix: unpadPrefix,
    of: 'OUTPUT',
    meaning: 'which sizes of the output are cut back to those of a padded input',
    without: 'the output is returned as the model made it',
    takes: '`AXIS=INPUT:AXIS`, several with commas',
  },
  {
    prefix: reservePrefix,
    of: 'GROUP',
    meaning: 'instances of the group take requests of this priority level and more urgent ones only',
    without: 'they take all',
    takes: 'a level below the last of `priority_levels`',
  },
  {
    prefix: threadsPrefix,
    of: 'GROUP',
    meaning: 'threads that one instance of the group computes with',
    without: '`millrace.threads`',
    takes: `a whole number from 1 to ${groupThreadsMax}`,
  },
];

export type ParameterName = keyof typeof modelParameters;

/** Triton's ONNX Runtime backend knows these under other names. */
const otherNames: Readonly<Record<string, ParameterName>> = { intra_op_thread_count: 'millrace.threads' };

/** The settings of a model; what cannot be understood is a problem, what is for other servers a warning. */
export function readModelSettings(
  config: ModelConfig,
  modelName: string,
  defaults: ModelDefaults,
  findings: Findings,
): ModelSettings {
  const written = new Map<ParameterName, string>();
  for (const [key, entry] of Object.entries(config.parameters ?? {})) {
    const path = `parameters[${JSON.stringify(key)}]`;
    const name = Object.hasOwn(otherNames, key) ? otherNames[key] : key;
    if (name !== undefined && Object.hasOwn(modelParameters, name)) {
      const known = name as ParameterName;
      const text = entry.string_value ?? '';
      const problem = valueProblem(text, modelParameters[known]);
      if (problem !== undefined) findings.problem(path, problem);
      else if (key === name || !written.has(known)) written.set(known, text);
    } else if (parameterFamilies.some(({ prefix }) => key.startsWith(prefix))) {
      // About one tensor or group each: read where those are known.
    } else if (Object.hasOwn(reportedParameters, key)) {
      // Written by the server into the configuration that it reports, which may be sent back.
    } else if (key.startsWith(parameterPrefix)) {
      findings.problem(path, `there is no such parameter${suggestionFor(key, Object.keys(modelParameters))}`);
    } else {
      findings.warning(path, 'is not a parameter that Millrace reads; it has no effect');
    }
  }
  const lane = written.get('millrace.lane') as LaneChoice | undefined;
  const group = written.get('millrace.worker_group');
  if (lane === 'inline' && defaults.isInlineRefused === true) {
    const message = 'would run the model with the permissions of the server, although worker.user is set; remove one';
    findings.problem('parameters["millrace.lane"]', message);
  }
  if (lane === 'inline' && group !== undefined) {
    findings.problem('parameters["millrace.worker_group"]', 'has no meaning with millrace.lane "inline"; remove one');
  }
  if (lane === 'inline' && written.has(warmSpareParameter)) {
    findings.problem(
      `parameters["${warmSpareParameter}"]`,
      'has no meaning with millrace.lane "inline", which has no worker process; remove one',
    );
  }
  const number = (name: ParameterName, unwritten: number): number => Number(written.get(name) ?? unwritten);
  const latencyTargetMs = number('millrace.latency_target_ms', Number.POSITIVE_INFINITY);
  if (
    latencyTargetMs !== Number.POSITIVE_INFINITY &&
    (config.dynamic_batching?.max_queue_delay_microseconds ?? 0n) > 0n
  ) {
    const message = 'contradicts max_queue_delay_microseconds: batches for a latency are not held back; remove one';
    findings.problem('parameters["millrace.latency_target_ms"]', message);
  }
  return {
    lane: lane ?? defaults.lane,
    // A group's name has no slash, so a model without a group can never fall into one.
    workerGroup: group ?? `model/${modelName}`,
    isGroupShared: group !== undefined,
    sharesWorker: written.get('millrace.share_worker') !== 'false',
    warmSpares: number(warmSpareParameter, 0),
    runMsMax: number('millrace.run_ms_max', defaults.runMsMax),
    queueRequestsMax: number('millrace.queue_requests_max', takeQueueSize(config) ?? defaults.queueRequestsMax),
    queueBytesMax: number('millrace.queue_bytes_max', defaults.queueBytesMax),
    // With a latency target, an answer that has waited longer is of no use.
    waitMsMax:
      number('millrace.wait_ms_max', Math.min(defaults.waitMsMax, latencyTargetMs)) || Number.POSITIVE_INFINITY,
    latencyTargetMs,
    weight: number('millrace.weight', 1),
    threads: number('millrace.threads', 0),
    isSpinning: written.get('millrace.spinning') === 'true',
    sequenceBacklogMax: number('millrace.sequence_backlog_max', sequenceBacklogMaxDefault),
    sequenceSlotWaitMsMax: number('millrace.sequence_slot_wait_ms_max', sequenceSlotWaitMsMaxDefault),
    sequenceStateBytesMax: number('millrace.sequence_state_bytes_max', sequenceStateBytesMaxDefault),
    concurrency: number(concurrencyParameter, concurrencyDefault),
    callerRunsMax: written.has(callerConcurrencyParameter) ? number(callerConcurrencyParameter, 1) : 'share',
    unreadMsMax: number(unreadParameter, unreadMsMaxDefault) || Number.POSITIVE_INFINITY,
    generatorCacheBytesMax: number(generatorCacheBytesParameter, generatorCacheBytesMaxDefault),
  };
}
