/** A ModelInferRequest that belongs to a durable stream: what its parameters say about the stream and the input. */
import { InferenceError, type JsonObject, type JsonValue, quote } from '@millrace/protocol';
import { timeoutMsFromParameter, timeoutParameter } from '../request-deadline.ts';
import { scheduleKeys } from '../schedule-parameters.ts';
import { checkStreamId, defaultStreamFrameLimits, tooLarge } from '../streams/frame-limits.ts';
import type { InferMessage, InferParameter } from './infer-message.ts';
import { emptyFinalResponse, parameterValueFrom } from './request-parameters.ts';

/** The parameters of requests and answers that are about streams. */
export const streamKeys = {
  id: 'stream_id',
  sequence: 'stream_sequence',
  resumeAfter: 'stream_resume_after',
  end: 'stream_end',
  output: 'stream_output',
  accepted: 'stream_accepted',
  outcome: 'stream_outcome',
  outputs: 'stream_outputs',
  error: 'stream_error',
  warning: 'stream_warning',
} as const;

/** They are compared, journaled and kept, as those of an `open`. */
const { parametersBytesMax } = defaultStreamFrameLimits;
/** Of a value other than text. */
const valueBytes = 8;

export interface DurableRequest {
  readonly streamId: string;
  /** The request's own id. */
  readonly id: string;
  /** `model` or `model:version`; empty: not named. */
  readonly context: string;
  /** Of the stream: those of the request that belong to nobody else. */
  readonly parameters: JsonObject;
  /** False: it only attaches the call to the stream. */
  readonly isInput: boolean;
  /** Of the input; undefined: the next on this call. */
  readonly sequence: number | undefined;
  /** The last output that the client has seen; undefined: not said. */
  readonly resumeAfter: number | undefined;
  readonly isLast: boolean;
  readonly deadlineMs: number | undefined;
  /** Whether it asks for final responses also where they have no outputs. */
  readonly wantsEnd: boolean;
}

/** Throws an InferenceError for what a stream cannot do. */
export function durableRequestFrom(message: InferMessage): DurableRequest {
  const { modelName, modelVersion, id, outputs, inputs } = message;
  if (outputs.length > 0) {
    throw invalid('a stream sends all outputs of its model; leave out the requested outputs');
  }
  const own: Record<string, JsonValue> = {};
  let ownBytes = 0;
  let streamId = '';
  let sequence: number | undefined;
  let resumeAfter: number | undefined;
  let isLast = false;
  let deadlineMs: number | undefined;
  let wantsEnd = false;
  for (const [key, parameter] of message.parameters) {
    if (key === streamKeys.id) streamId = idFrom(parameter);
    else if (key === streamKeys.sequence) sequence = numberFrom(key, parameter, 1);
    else if (key === streamKeys.resumeAfter) resumeAfter = numberFrom(key, parameter, 0);
    else if (key === streamKeys.end) isLast = flagFrom(key, parameter);
    else if (key === timeoutParameter) deadlineMs = timeoutMsFromParameter(parameterValueFrom(key, parameter));
    else if (key === emptyFinalResponse) wantsEnd = flagFrom(key, parameter);
    else if (scheduleKeys.has(key) || key === 'timeout') {
      throw invalid(`parameter ${quote(key)} cannot be used with ${streamKeys.id}; leave it out`);
    } else if (key.startsWith('triton_') || key.startsWith('stream_')) {
      throw invalid(`parameter ${quote(key)} is reserved and not known; remove it from the request's parameters`);
    } else {
      ownBytes += key.length + (parameter.kind === 'string' ? Buffer.byteLength(parameter.value) : valueBytes);
      if (ownBytes > parametersBytesMax) {
        throw tooLarge(
          `the parameters of the stream have more than the ${parametersBytesMax} bytes allowed; send fewer`,
        );
      }
      own[key] = parameterValueFrom(key, parameter);
    }
  }
  const isInput = inputs.length > 0 || isLast;
  if (!isInput && sequence !== undefined) {
    throw invalid(
      `the request has ${streamKeys.sequence} and no input tensors; send them, or ${streamKeys.end} to end the inputs`,
    );
  }
  const context = modelVersion === '' ? modelName : `${modelName}:${modelVersion}`;
  return { streamId, id, context, parameters: own, isInput, sequence, resumeAfter, isLast, deadlineMs, wantsEnd };
}

function idFrom(parameter: InferParameter): string {
  if (parameter.kind !== 'string') throw invalid(`parameter '${streamKeys.id}' must be a string`);
  checkStreamId(parameter.value);
  return parameter.value;
}

function numberFrom(key: string, parameter: InferParameter, min: number): number {
  const value = parameter.kind === 'int64' || parameter.kind === 'uint64' ? Number(parameter.value) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw invalid(`parameter '${key}' must be an int64 from ${min} to ${Number.MAX_SAFE_INTEGER}`);
}

function flagFrom(key: string, parameter: InferParameter): boolean {
  if (parameter.kind !== 'bool') throw invalid(`parameter '${key}' must be a bool`);
  return parameter.value;
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
