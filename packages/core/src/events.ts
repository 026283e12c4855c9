/**
 * The seam between the data plane and its decisions: what happened goes in as events, with the time; what to do comes
 * out as actions. No promise, timer, socket or tensor crosses it, so a whole cluster can be simulated from a seed.
 *
 * Rules that both sides rely on:
 * - every `request-arrived` leads to exactly one `deliver` or `refuse` that names it, also when it is cancelled;
 * - events only change what is known; batches are dispatched by `pump`, called once after the events of a turn, so that
 *   requests which came in together can share a batch;
 * - actions are carried out in their order, before the caller reports a worker's death: a `dispatch` may be decided
 *   in the middle of a turn, when a queue is full while a worker is free;
 * - a worker runs its batches in the order of their dispatch, so the oldest unanswered one is the one that runs; the
 *   workers of a concurrent model run all they hold at once.
 */
import type { ErrorCode } from '@millrace/protocol';
import type { ModelPolicy } from './model-policy.ts';

/** Names of things in the core are small integers or strings chosen by the caller; the core only compares them. */
export type RequestId = number;
export type BatchId = number;
export type WorkerId = number;
/** A model version being served, for instance `mlp:1`. */
export type ModelKey = string;

export type SchedulerEvent =
  /** For a known model it changes the policy from now on. */
  | { readonly kind: 'model-added'; readonly model: ModelKey; readonly policy: ModelPolicy }
  /**
   * It gets no new requests; those that wait and run are finished by its workers, and `model-idle` is said when the last
   * one is, also when it is removed meanwhile or was never known. A `model-added` takes it back.
   */
  | { readonly kind: 'model-retired'; readonly model: ModelKey }
  /** Waiting requests are refused; running ones finish. No worker serves it any more. */
  | { readonly kind: 'model-removed'; readonly model: ModelKey }
  /** Batches the worker will hold at once, the running one included. */
  | { readonly kind: 'worker-credit'; readonly worker: WorkerId; readonly batchesMax: number }
  /** After `model-added`: a worker that finished loading a model which was removed meanwhile serves nothing by it. */
  | {
      readonly kind: 'worker-serves';
      readonly worker: WorkerId;
      readonly model: ModelKey;
      /** Accepts only requests of this priority level and more urgent ones; Infinity: all. */
      readonly priorityMax: number;
    }
  | { readonly kind: 'worker-unserves'; readonly worker: WorkerId; readonly model: ModelKey }
  /**
   * The last event of a worker. Its successor may use the id again, and inherits its recent failures. `isKilled`: it was
   * ended by a signal from outside, which says little about what it ran.
   */
  | { readonly kind: 'worker-gone'; readonly worker: WorkerId; readonly isKilled: boolean }
  | { readonly kind: 'request-arrived'; readonly request: ArrivedRequest }
  | {
      readonly kind: 'request-cancelled';
      readonly request: RequestId;
      readonly reason: 'cancelled' | 'deadline-exceeded';
    }
  /** An operator trusts the worker again: it is as if none of its batches had failed. */
  | { readonly kind: 'breaker-closed'; readonly worker: WorkerId }
  /**
   * A part of the answer was handed out, and what was handed out cannot be taken back: the requests of the batch are not
   * run again, whatever becomes of it. Its run limit begins anew.
   */
  | { readonly kind: 'batch-progressed'; readonly batch: BatchId }
  /** Whether its caller takes another part of the answer now: while it does not, the batch waits for it, and has no run limit. One that was cancelled waits for nobody. */
  | { readonly kind: 'batch-credit'; readonly batch: BatchId; readonly hasCredit: boolean }
  /** Said of a batch that is not outstanding, `batch-…` events change nothing. */
  | { readonly kind: 'batch-answered'; readonly batch: BatchId }
  | { readonly kind: 'batch-failed'; readonly batch: BatchId; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'drain-started' }
  /** The time asked for by `wake-at` has come. At any other time it does no harm: a timer that fires early is set anew. */
  | { readonly kind: 'tick' };

export interface ArrivedRequest {
  /** Not used by any other unanswered request. */
  readonly request: RequestId;
  readonly model: ModelKey;
  /** At least 1. A request is never split over batches. */
  readonly rows: number;
  readonly bytes: number;
  /** Requests with equal groups may share a batch: same inputs, same row shapes. */
  readonly group: string;
  /** Milliseconds on the caller's clock; Infinity when the request has no deadline. */
  readonly deadlineAt: number;
  /** Whose request it is, for fairness between callers; empty: unknown. */
  readonly caller: string;
  /** From 1, the most urgent; 0: the model's default. */
  readonly priority: number;
  /** The queue timeout that the request asks for, in milliseconds; Infinity: none. */
  readonly queueTimeoutMs: number;
  /** It must not share a batch with any other request. */
  readonly isAlone: boolean;
}

export type SchedulerAction =
  | {
      readonly kind: 'dispatch';
      /** Rising from 1. */
      readonly batch: BatchId;
      readonly worker: WorkerId;
      readonly model: ModelKey;
      /** In row order. */
      readonly requests: readonly RequestId[];
    }
  /**
   * Hand each of these their part of the batch's answer. The others of the batch no longer wait; only where answers leave
   * in the order of arrival may some of them still do, and get theirs by a later `deliver` of the same batch.
   */
  | { readonly kind: 'deliver'; readonly batch: BatchId; readonly requests: readonly RequestId[] }
  | {
      readonly kind: 'refuse';
      readonly request: RequestId;
      readonly code: ErrorCode;
      readonly message: string;
      /** When a retry may succeed, as far as can be told. */
      readonly retryAfterMs?: number;
      /** A worker died by itself while it ran the request and nothing else. */
      readonly hasKilledWorker?: true;
    }
  /** Nobody waits for this batch any more; its worker may skip it. */
  | { readonly kind: 'cancel-batch'; readonly batch: BatchId; readonly worker: WorkerId }
  /** Said once; the worker is given nothing more, and its `worker-gone` settles what it held. */
  | { readonly kind: 'kill-worker'; readonly worker: WorkerId; readonly reason: string }
  /** Replaces the time asked for before: the caller keeps one timer. */
  | { readonly kind: 'wake-at'; readonly at: number }
  /** After `model-retired`, once: nothing of the model waits or runs any more. */
  | { readonly kind: 'model-idle'; readonly model: ModelKey }
  /** After `drain-started`, once: nothing waits or runs any more. */
  | { readonly kind: 'drained' };
