import { InferenceError } from '@millrace/protocol';
import type { Parameters, ParameterValue } from '../../data-plane/infer.ts';
import { takeBoolean, takeNatural } from './parameters.ts';

/** The header field that sets a time limit on a request without touching its body. */
export const timeoutField = 'millrace-timeout-ms';

/** What the request's own parameters mean to the edge, and what is left for the model. */
export interface RequestParameters {
  readonly isBinaryByDefault: boolean;
  readonly timeoutMs: number | undefined;
  readonly forModel: Parameters;
}

export const noRequestParameters: RequestParameters = {
  isBinaryByDefault: false,
  timeoutMs: undefined,
  forModel: new Map(),
};

export function requestParametersFrom(parameters: Map<string, ParameterValue>): RequestParameters {
  for (const key of parameters.keys()) {
    if (key.startsWith('triton_')) {
      throw new InferenceError(
        'invalid-request',
        `parameter keys starting with 'triton_' are reserved; remove '${key}' from the request's parameters`,
      );
    }
  }
  const isBinaryByDefault = takeBoolean(parameters, 'binary_data_output', '') ?? false;
  const timeoutUs = takeNatural(parameters, 'timeout', 0, '') ?? 0;
  parameters.delete('binary_data_output');
  parameters.delete('timeout');
  return { isBinaryByDefault, timeoutMs: timeoutUs === 0 ? undefined : timeoutUs / 1000, forModel: parameters };
}

/** Milliseconds, whole; 0 and no field at all mean no limit. */
export function timeoutMsFromField(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^[0-9]{1,15}$/.test(value)) {
    throw new InferenceError('invalid-request', `the ${timeoutField} header must be a whole number of milliseconds`);
  }
  return Number(value) === 0 ? undefined : Number(value);
}
