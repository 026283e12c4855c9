/**
 * The seam between the data plane and its decisions: what happened goes in as events, with the time; what to do comes
 * out as actions. No promise, timer, socket or tensor crosses it, so a whole cluster can be simulated, seed by seed.
 */
import type { ErrorCode } from '@millrace/protocol';

/** Names of things in core are small integers or strings chosen by the caller; core only compares them. */
export type RequestId = number;
export type BatchId = number;
export type WorkerId = number;
/** A model version being served, for instance `mlp:1`. */
export type ModelKey = string;

export interface ModelLimits {
  /** Rows in a batch; 1 means that batches are single requests. */
  readonly rowsMax: number;
  readonly queueRequestsMax: number;
  readonly queueBytesMax: number;
  /** A run that takes longer costs the worker its life. */
  readonly runMsMax: number;
}

export type SchedulerEvent =
  | { readonly kind: 'model-added'; readonly model: ModelKey; readonly limits: ModelLimits }
  /** Waiting requests are refused; running ones finish. */
  | { readonly kind: 'model-removed'; readonly model: ModelKey }
  | { readonly kind: 'worker-credit'; readonly worker: WorkerId; readonly batchesMax: number }
  | { readonly kind: 'worker-serves'; readonly worker: WorkerId; readonly model: ModelKey }
  | { readonly kind: 'worker-unserves'; readonly worker: WorkerId; readonly model: ModelKey }
  | { readonly kind: 'worker-gone'; readonly worker: WorkerId }
  | { readonly kind: 'request-arrived'; readonly request: ArrivedRequest }
  | {
      readonly kind: 'request-cancelled';
      readonly request: RequestId;
      readonly reason: 'cancelled' | 'deadline-exceeded';
    }
  | { readonly kind: 'batch-answered'; readonly batch: BatchId }
  | { readonly kind: 'batch-failed'; readonly batch: BatchId; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'drain-started' }
  /** The time asked for by `wake-at` has come (or any other time: it does no harm). */
  | { readonly kind: 'tick' };

export interface ArrivedRequest {
  readonly request: RequestId;
  readonly model: ModelKey;
  readonly rows: number;
  readonly bytes: number;
  /** Requests with equal groups may share a batch: same inputs, same row shapes. */
  readonly group: string;
  /** Milliseconds on the caller's clock; Infinity when the request has no deadline. */
  readonly deadlineAt: number;
}

export type SchedulerAction =
  | {
      readonly kind: 'dispatch';
      readonly batch: BatchId;
      readonly worker: WorkerId;
      readonly model: ModelKey;
      /** In row order. */
      readonly requests: readonly RequestId[];
    }
  /** Hand each of these their part of the batch's answer. The others of the batch no longer wait. */
  | { readonly kind: 'deliver'; readonly batch: BatchId; readonly requests: readonly RequestId[] }
  | { readonly kind: 'refuse'; readonly request: RequestId; readonly code: ErrorCode; readonly message: string }
  /** Nobody waits for this batch any more; its worker may skip it. */
  | { readonly kind: 'cancel-batch'; readonly batch: BatchId; readonly worker: WorkerId }
  | { readonly kind: 'kill-worker'; readonly worker: WorkerId; readonly reason: string }
  | { readonly kind: 'wake-at'; readonly at: number }
  /** After `drain-started`: nothing waits or runs any more. */
  | { readonly kind: 'drained' };
