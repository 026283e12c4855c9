/** The way of a request whose model version is known and not in memory: it waits until the version is loaded for it. */
import type { CancelSignal } from '@millrace/protocol';
import type { InferRequest } from './infer.ts';
import type { ServedModel } from './served-model.ts';

export interface Demand {
  /** Resolves when the version can be asked for; rejects with an `InferenceError`. Many may wait for one load. */
  bringBack(model: ServedModel, deadlineAt: number, signal: CancelSignal): Promise<void>;
}

/** A request that finds its version gone again each time it was loaded for it is refused after so many times. */
export const bringBackAttemptsMax = 4;

/** The request as it is after a wait, which counts as one in the queue. */
export function afterWaiting(request: InferRequest, waitedMs: number): InferRequest {
  const { origin } = request;
  if (origin.queueTimeoutMs === Number.POSITIVE_INFINITY) return request;
  return { ...request, origin: { ...origin, queueTimeoutMs: Math.max(0, origin.queueTimeoutMs - waitedMs) } };
}
