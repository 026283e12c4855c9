/** Loading on demand: a request whose model version is known but not in memory waits until the version is loaded. */
import type { CancelSignal } from '@millrace/protocol';
import type { InferRequest } from './infer.ts';
import type { ServedModel } from './served-model.ts';

export interface Demand {
  /** Resolves when the version takes requests; rejects with an `InferenceError`. Many requests may wait for one load. */
  bringBack(model: ServedModel, deadlineAt: number, signal: CancelSignal): Promise<void>;
}

/** A request whose version was unloaded again after each load is refused after this many loads. */
export const bringBackAttemptsMax = 4;

/** The request after it waited for a load; the wait counts against its queue timeout. */
export function afterWaiting(request: InferRequest, waitedMs: number): InferRequest {
  const { origin } = request;
  if (origin.queueTimeoutMs === Number.POSITIVE_INFINITY) return request;
  return { ...request, origin: { ...origin, queueTimeoutMs: Math.max(0, origin.queueTimeoutMs - waitedMs) } };
}
