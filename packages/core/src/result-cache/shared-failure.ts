import type { ErrorCode } from '@millrace/protocol';

/** Failures that an identical request would meet again. Any other code is taken as specific to one attempt. */
const sharedCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid-request',
  // The model version is no longer served: nobody will run the others either.
  'model-not-ready',
  'inference-failed',
  'poison-request',
  'run-time-limit',
  'unsupported',
]);

/** Whether a run's failure applies to every identical request that waits for it. */
export function isSharedFailure(code: ErrorCode): boolean {
  return sharedCodes.has(code);
}
