/** Implements `context.infer`: the call of another model by a pipeline. */
import { cancellationFrom, neverCancelled } from '@millrace/protocol';
import type { ModelCall, RunCalls } from '../engine.ts';
import type { ModelCallOptions, PipelineContext, PipelineTensor } from './pipeline-api.ts';
import { pipelineTensorFrom, tensorFromGiven } from './pipeline-values.ts';

/** Rejects with an error that says what is wrong with the call, before anything is sent. */
export async function inferBy(
  calls: RunCalls | undefined,
  model: string,
  inputs: Parameters<PipelineContext['infer']>[1],
  options: ModelCallOptions,
): Promise<Readonly<Record<string, PipelineTensor>>> {
  if (calls === undefined) throw new Error('this pipeline runs in a process that cannot call other models');
  const answer = await calls.call(callFrom(model, inputs, options));
  const tensors: Record<string, PipelineTensor> = Object.create(null);
  for (const tensor of answer) tensors[tensor.name] = pipelineTensorFrom(tensor);
  return tensors;
}

/** Arguments of user code are unchecked: invalid ones would crash this process when they are written to the router. */
function callFrom(model: unknown, inputs: unknown, options: unknown): ModelCall {
  if (typeof model !== 'string' || model === '')
    throw new TypeError('infer needs the name of a model as its first argument');
  if (!isObject(inputs)) throw new TypeError(`the inputs for '${model}' must be an object of tensors`);
  if (!isObject(options)) throw new TypeError(`the options for '${model}' must be an object`);
  const { version = '', outputs = [], timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
  if (typeof version !== 'string') throw new TypeError(`the version of '${model}' must be a string, such as '3'`);
  if (!Array.isArray(outputs) || !outputs.every((name) => typeof name === 'string')) {
    throw new TypeError(`the outputs requested from '${model}' must be a list of names`);
  }
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0)) {
    throw new RangeError(`timeoutMs is ${String(timeoutMs)}; it must be a number, at least 0`);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new TypeError('signal must be an AbortSignal');
  return {
    model,
    version,
    inputs: Object.entries(inputs).map(([name, value]) => tensorFromGiven('input', name, value)),
    outputs: [...outputs],
    timeoutMs,
    signal: signal === undefined ? neverCancelled : cancellationFrom(signal),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
