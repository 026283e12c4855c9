import { InferenceError, quote } from '@millrace/protocol';
import type { Parameters, ParameterValue, SequenceStep } from '../../data-plane/infer.ts';
import { timeoutMsFromParameter, timeoutParameter } from '../request-deadline.ts';
import { scheduleKeys, sequenceIdMax, sequenceStepFrom, takeSequenceId } from '../schedule-parameters.ts';
import { takeBoolean, takeNatural } from './parameters.ts';

/** The request's parameters, separated into those for the edge and those for the model. */
export interface RestRequestParameters {
  readonly isBinaryByDefault: boolean;
  readonly timeoutMs: number | undefined;
  /** Infinity: not set. */
  readonly queueTimeoutMs: number;
  readonly priority: number;
  readonly sequence: SequenceStep | undefined;
  readonly forModel: Parameters;
}

export const noRestRequestParameters: RestRequestParameters = {
  isBinaryByDefault: false,
  timeoutMs: undefined,
  queueTimeoutMs: Number.POSITIVE_INFINITY,
  priority: 0,
  sequence: undefined,
  forModel: new Map(),
};

export function restRequestParametersFrom(parameters: Map<string, ParameterValue>): RestRequestParameters {
  for (const key of parameters.keys()) {
    if (key.startsWith('triton_')) {
      throw new InferenceError(
        'invalid-request',
        `parameter keys starting with 'triton_' are reserved; remove ${quote(key)} from the request's parameters`,
      );
    }
  }
  const isBinaryByDefault = takeBoolean(parameters, 'binary_data_output', '') ?? false;
  const timeoutMs = timeoutMsFromParameter(parameters.get(timeoutParameter));
  const timeoutUs = takeNatural(parameters, 'timeout', 0, '') ?? 0;
  const priority = takeNatural(parameters, 'priority', 0, '') ?? 0;
  const sequence = sequenceStepFrom({
    id: sequenceIdFrom(parameters.get('sequence_id')),
    isStart: takeBoolean(parameters, 'sequence_start', '') ?? false,
    isEnd: takeBoolean(parameters, 'sequence_end', '') ?? false,
  });
  parameters.delete('binary_data_output');
  parameters.delete('timeout');
  parameters.delete(timeoutParameter);
  for (const key of scheduleKeys) parameters.delete(key);
  const queueTimeoutMs = timeoutUs === 0 ? Number.POSITIVE_INFINITY : timeoutUs / 1000;
  return { isBinaryByDefault, timeoutMs, queueTimeoutMs, priority, sequence, forModel: parameters };
}

function sequenceIdFrom(written: ParameterValue | undefined): bigint | string | undefined {
  if (written === undefined) return undefined;
  const id = takeSequenceId(written);
  if (id !== undefined) return id;
  throw new InferenceError(
    'invalid-request',
    `parameter 'sequence_id' must be an integer from 0 to ${sequenceIdMax} or a string`,
  );
}
