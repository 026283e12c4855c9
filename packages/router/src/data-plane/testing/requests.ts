import type { Parameters, SequenceStep } from '../infer.ts';
import { type InferRequest, noTrail } from '../infer.ts';

/** The fields of a request that a test sets; each has a default. */
export interface RequestText {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly parameters: Parameters;
  readonly inputs: InferRequest['inputs'];
  readonly outputs: readonly string[];
  readonly sequence: SequenceStep | undefined;
  readonly caller: string;
  readonly deadlineAt: number;
  readonly queueTimeoutMs: number;
  readonly priority: number;
  readonly trail: readonly string[];
}

/** A request to model `m` without a caller, empty except for the given fields. */
export function inferRequest(given: Partial<RequestText> = {}): InferRequest {
  const { model = 'm', version = '', id = '', parameters = new Map(), outputs = [], sequence } = given;
  const { inputs = [], caller = '', priority = 0, trail = noTrail } = given;
  const { deadlineAt = Number.POSITIVE_INFINITY, queueTimeoutMs = Number.POSITIVE_INFINITY } = given;
  return {
    target: { model, version, id, parameters, outputs, sequence },
    inputs,
    origin: { caller, deadlineAt, queueTimeoutMs, priority, trail },
  };
}
