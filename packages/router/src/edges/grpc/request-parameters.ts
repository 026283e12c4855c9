/** Separates the parameters of a gRPC request into those for the edge and those for the model. */
import { InferenceError, quote } from '@millrace/protocol';
import type { Parameters, ParameterValue, SequenceStep } from '../../data-plane/infer.ts';
import { timeoutMsFromParameter, timeoutParameter } from '../request-deadline.ts';
import { scheduleKeys, sequenceStepFrom } from '../schedule-parameters.ts';
import type { InferParameter, InferParameters } from './infer-message.ts';

export interface GrpcRequestParameters {
  readonly timeoutMs: number | undefined;
  /** Infinity: not set. */
  readonly queueTimeoutMs: number;
  readonly priority: number;
  readonly sequence: SequenceStep | undefined;
  readonly forModel: Parameters;
  /** The caller wants a final response at the end of several answers, also where that has no outputs. */
  readonly wantsEnd: boolean;
}

export const noGrpcRequestParameters: GrpcRequestParameters = {
  timeoutMs: undefined,
  queueTimeoutMs: Number.POSITIVE_INFINITY,
  priority: 0,
  sequence: undefined,
  forModel: new Map(),
  wantsEnd: false,
};

/** The only reserved parameter that a request may set. */
export const emptyFinalResponse = 'triton_enable_empty_final_response';

export function grpcRequestParametersFrom(parameters: InferParameters): GrpcRequestParameters {
  const forModel = new Map<string, ParameterValue>();
  let timeoutMs: number | undefined;
  let wantsEnd = false;
  let queueTimeoutMs = Number.POSITIVE_INFINITY;
  for (const [key, parameter] of parameters) {
    if (key === 'timeout') {
      if (parameter.kind !== 'int64' || parameter.value < 0n) {
        throw invalid(`parameter 'timeout' must be an int64 of microseconds, 0 or more`);
      }
      queueTimeoutMs = parameter.value === 0n ? Number.POSITIVE_INFINITY : Number(parameter.value) / 1000;
    } else if (key === timeoutParameter) timeoutMs = timeoutMsFromParameter(parameterValueFrom(key, parameter));
    else if (key === emptyFinalResponse && parameter.kind === 'bool') wantsEnd = parameter.value;
    else if (scheduleKeys.has(key)) continue;
    else if (key.startsWith('triton_')) {
      throw invalid(
        `parameter keys starting with 'triton_' are reserved; remove ${quote(key)} from the request's parameters`,
      );
    } else forModel.set(key, parameterValueFrom(key, parameter));
  }
  const sequence = sequenceStepFrom({
    id: sequenceIdFrom(parameters.get('sequence_id')),
    isStart: isSet(parameters, 'sequence_start'),
    isEnd: isSet(parameters, 'sequence_end'),
  });
  return {
    timeoutMs,
    queueTimeoutMs,
    priority: priorityFrom(parameters.get('priority')),
    sequence,
    forModel,
    wantsEnd,
  };
}

function sequenceIdFrom(parameter: InferParameter | undefined): bigint | string | undefined {
  switch (parameter?.kind) {
    case undefined:
      return undefined;
    case 'string':
    case 'uint64':
      return parameter.value;
    case 'int64':
      // The C++ client writes an id as an int64 of the same bits.
      return BigInt.asUintN(64, parameter.value);
    case 'bool':
    case 'double':
    case 'none':
      throw invalid(`parameter 'sequence_id' must be an int64, a uint64 or a string`);
  }
}

function isSet(parameters: InferParameters, key: string): boolean {
  const parameter = parameters.get(key);
  if (parameter === undefined) return false;
  if (parameter.kind !== 'bool') throw invalid(`parameter '${key}' must be a bool`);
  return parameter.value;
}

function priorityFrom(parameter: InferParameter | undefined): number {
  if (parameter === undefined) return 0;
  if ((parameter.kind !== 'int64' && parameter.kind !== 'uint64') || parameter.value < 0n) {
    throw invalid(`parameter 'priority' must be an int64 or a uint64 of 0 or more`);
  }
  // Rounding does not matter: no model has so many levels, and a level that does not exist means the default.
  return Number(parameter.value);
}

export function parameterValueFrom(key: string, parameter: InferParameter): ParameterValue {
  switch (parameter.kind) {
    case 'bool':
    case 'string':
    case 'double':
      return parameter.value;
    case 'int64':
    case 'uint64': {
      const value = Number(parameter.value);
      return Number.isSafeInteger(value) ? value : parameter.value;
    }
    case 'none':
      throw invalid(`parameter ${quote(key)} has no value`);
  }
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
