/**
 * The seam between the steps of a model's sequences and their decisions: what happened goes in as events, with the
 * time; what to do comes out as actions. Tensors and state stay with the caller.
 *
 * Rules that both sides rely on:
 * - every `step-arrived` leads either to one `refuse`, or to one `run`, which the caller answers with `step-answered` or
 *   `step-failed`, once;
 * - at most one step of a sequence runs at a time, in order of arrival;
 * - the state of a sequence is what its last answered step left: the caller keeps it from `step-answered` to `forget`;
 * - a step that is not answered is not skipped: the sequence ends with it, so that no later step runs on a state that
 *   lacks it.
 */
import type { ErrorCode } from '@millrace/protocol';

export type StepId = number;
/** One sequence from its start to its end: a later one may use the same id. */
export type SequenceNumber = number;

export interface ArrivedStep {
  /** Not used by any other step that is not settled yet. */
  readonly step: StepId;
  /** Whose step it is: the same id of two owners names two sequences. */
  readonly owner: string;
  /** Chosen by the owner; a number and the text of its digits are different ids. */
  readonly id: bigint | string;
  readonly isStart: boolean;
  readonly isEnd: boolean;
  readonly bytes: number;
  /** Milliseconds on the caller's clock; Infinity when it has none. */
  readonly deadlineAt: number;
  /** How long its sequence may wait for a slot, in milliseconds; Infinity: no limit. */
  readonly slotWaitMsMax: number;
}

export type SequencerEvent =
  | { readonly kind: 'step-arrived'; readonly step: ArrivedStep }
  | { readonly kind: 'step-answered'; readonly step: StepId }
  | { readonly kind: 'step-failed'; readonly step: StepId; readonly code: ErrorCode; readonly message: string }
  /** Of a step that runs it leads to `cancel-run`, and its answer or failure still settles it. */
  | {
      readonly kind: 'step-cancelled';
      readonly step: StepId;
      readonly reason: 'cancelled' | 'deadline-exceeded';
    }
  /** Memory is short: one of the owner's sequences ends, the one that was idle for longest if there is one. */
  | { readonly kind: 'owner-over-share'; readonly owner: string }
  /** A sequence of this id has begun elsewhere: this one accepts no further step. */
  | { readonly kind: 'begun-elsewhere'; readonly owner: string; readonly id: bigint | string }
  /** No new sequence begins; those that live go on. `closed` is said when the last one has ended. */
  | { readonly kind: 'closing' }
  /** Sequences may begin again. */
  | { readonly kind: 'reopened' }
  /** Sequences that still live end now, by name. */
  | { readonly kind: 'closing-at-once' }
  /** The time asked for by `wake-at` has come, or any other. */
  | { readonly kind: 'tick' };

/** `reclaimed`: its owner had more than its share, and another one needed the slot. */
export type EndReason = 'ended' | 'idle' | 'failed' | 'unloaded' | 'reclaimed';

export type SequencerAction =
  /** From the state of its sequence, or from the initial state if it starts one. */
  | { readonly kind: 'run'; readonly step: StepId; readonly sequence: SequenceNumber; readonly isStart: boolean }
  | { readonly kind: 'refuse'; readonly step: StepId; readonly code: ErrorCode; readonly message: string }
  | {
      readonly kind: 'cancel-run';
      readonly step: StepId;
      readonly reason: 'cancelled' | 'deadline-exceeded';
    }
  /** The sequence is over; said once of each that was run. */
  | { readonly kind: 'forget'; readonly sequence: SequenceNumber; readonly reason: EndReason }
  /** Replaces the time asked for before. */
  | { readonly kind: 'wake-at'; readonly at: number }
  /** After `closing`, once, unless it was `reopened`: no sequence is left. */
  | { readonly kind: 'closed' };
