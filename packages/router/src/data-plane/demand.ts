/** The way of a request whose model version is known and not in memory: it waits until the version is loaded for it. */
import type { CancelSignal } from '@millrace/protocol';
import type { InferRequest } from './infer.ts';
import type { ServedModel } from './served-model.ts';

export interface Demand {
  /** Resolves when the version can be asked for; rejects with an `InferenceError`. Many may wait for one load. */
  bringBack(model: ServedModel, timeoutMs: number | undefined, signal: CancelSignal): Promise<void>;
}

/** A request that finds its version gone again each time it was loaded for it is refused after so many times. */
export const bringBackAttemptsMax = 4;

/** The request as it is after a wait: its limits count from when it came. */
export function afterWaiting(request: InferRequest, waitedMs: number): InferRequest {
  const left = (limitMs: number | undefined): number | undefined =>
    limitMs === undefined ? undefined : Math.max(0, limitMs - waitedMs);
  return { ...request, timeoutMs: left(request.timeoutMs), queueTimeoutMs: left(request.queueTimeoutMs) };
}
