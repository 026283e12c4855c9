import type { ErrorCode } from '@millrace/protocol';

/** Failures that an identical request would meet again. Any other code is taken as specific to one attempt. */
const aboutRequest: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid-request',
  'inference-failed',
  'poison-request',
  'run-time-limit',
  'unsupported',
]);

/** Whether a run's failure was caused by the request itself, and so applies to every identical request. */
export function isFailureOfRequest(code: ErrorCode): boolean {
  return aboutRequest.has(code);
}
