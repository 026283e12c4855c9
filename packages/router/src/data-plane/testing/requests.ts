import type { Parameters, SequenceStep } from '../infer.ts';
import { type InferRequest, noTrail } from '../infer.ts';

/** What a test says of a request; all of it has a default. */
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

/** A request for model `m` from nobody, with nothing in it but what is given. */
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
