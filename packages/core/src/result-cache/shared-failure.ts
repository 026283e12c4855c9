import type { ErrorCode } from '@millrace/protocol';

/** Failures that an identical request would meet again. A code that is not here is taken for bad luck of one attempt. */
const aboutRequest: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid-request',
  'inference-failed',
  'poison-request',
  'run-time-limit',
  'unsupported',
]);

/** Whether a run's failure says something of the request itself, and so of every request that is identical to it. */
export function isFailureOfRequest(code: ErrorCode): boolean {
  return aboutRequest.has(code);
}
