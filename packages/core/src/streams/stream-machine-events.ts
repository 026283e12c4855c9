/**
 * The seam between the host of durable streams and the decisions about one stream: what happened goes in as events, with
 * the time; what to do comes out as actions. Times are in milliseconds since 1970, since limits outlive a process.
 *
 * Rules that both sides rely on:
 * - actions are carried out in their order; entries are appended in the order of their numbers, each number once;
 * - `committed` says of all entries up to a number that they are durable. Frames that speak of an entry are sent after it;
 * - after `append-refused` nothing that was appended before it may become durable any more: with the reason `full` the
 *   machine takes back what is not committed, and its next entry has the number of the first one refused;
 * - every `run` leads to one `step-done` or `step-failed`, unless the step is cancelled by `cancel-step`, after which the
 *   host says nothing more about it (if it does, it is ignored);
 * - a link gets frames from its `attached` until one of `close-link`, `ended` or `detached`; `ended` is its last frame;
 * - after `finished` or `release` the machine does nothing more, and the caller forgets it.
 */
import type { EndingOutcome, InputEntry, OutputEntry, StreamEntry } from './stream-entries.ts';
import type { StreamError } from './stream-errors.ts';

/** A connection of a client, numbered by the caller, each number once. */
export type LinkId = number;
/** One attempt to run an input, rising from 1. */
export type StreamStepId = number;

/** How far the other side may go beyond the sequence that is named with it. */
export interface FlowCredit {
  readonly messages: number;
  readonly bytes: number;
}

/** Since when a stream has no client, as a process finds it that takes the stream over. */
export interface IdleSince {
  readonly sinceMs: number;
  /** Its window was prolonged by an earlier start of a process; that is done once. */
  readonly isExtended: boolean;
}

/** An input as a client sent it. */
export interface ArrivedInput<Payload> {
  /** From 1. */
  readonly sequence: number;
  /** Undefined: it only ends the inputs. */
  readonly payload: Payload | undefined;
  /** No input follows. */
  readonly isLast: boolean;
  readonly eventTime: number | undefined;
  /** When nobody needs its outputs any more; Infinity: never. It is not journaled: a replay has no deadlines. */
  readonly deadlineAt: number;
}

export type StreamMachineEvent<Payload> =
  | {
      readonly kind: 'attached';
      readonly link: LinkId;
      /** The last output that the client has seen; one that acknowledges outputs acknowledges it by this. */
      readonly resumeAfter: number;
      /** Counted from `resumeAfter`. */
      readonly credit: FlowCredit;
      /** False: the client never says which outputs it has handled; a limited number of the last ones is kept. */
      readonly isAcknowledging: boolean;
      /** Tells the links of one client from those of another; empty: not told. */
      readonly clientId?: string | undefined;
      /** Counts the links of that client. */
      readonly attempt?: number | undefined;
    }
  | { readonly kind: 'detached'; readonly link: LinkId }
  /** Without a link: from a client whose inputs come in calls of their own; `acceptedInput` says when it is durable. */
  | { readonly kind: 'input'; readonly link: LinkId | undefined; readonly input: ArrivedInput<Payload> }
  /** Of a link that does not acknowledge it only renews the credit. */
  | {
      readonly kind: 'acknowledged';
      readonly link: LinkId | undefined;
      readonly output: number;
      /** Counted from `output`; undefined: as before. */
      readonly credit: FlowCredit | undefined;
    }
  /** The transport of the link has taken the outputs up to this one, so it has room for more. */
  | {
      readonly kind: 'taken';
      readonly link: LinkId;
      readonly output: number;
      /** Of a link that does not acknowledge, counted from `output`; undefined: as before. */
      readonly credit: FlowCredit | undefined;
    }
  | { readonly kind: 'cancelled'; readonly link: LinkId | undefined; readonly message: string }
  | { readonly kind: 'committed'; readonly number: number }
  /**
   * `full`: the entry of this number and those after it were not kept. `fenced`: another owner has the log. `unavailable`:
   * it is unknown what was kept; a take-over finds out.
   */
  | { readonly kind: 'append-refused'; readonly reason: 'full' | 'fenced' | 'unavailable'; readonly number: number }
  /** `isLast`: the model says that no further output of this step follows. */
  | {
      readonly kind: 'step-output';
      readonly step: StreamStepId;
      readonly payload: Payload;
      readonly isLast: boolean;
    }
  /** `state`: of a stateful model, after the input. */
  | { readonly kind: 'step-done'; readonly step: StreamStepId; readonly state: Payload | undefined }
  | {
      readonly kind: 'step-failed';
      readonly step: StreamStepId;
      readonly error: StreamError;
      readonly hasWorkerDied: boolean;
      /** Nothing else ran on that worker meanwhile. */
      readonly wasAlone: boolean;
    }
  /** The pinned version is gone, or its files are others: `model-unloaded`, `model-changed`. */
  | { readonly kind: 'model-lost'; readonly error: StreamError }
  /** Whether the owner of the stream holds about as much memory as it may: then the stream takes and makes less. */
  | { readonly kind: 'memory'; readonly isScarce: boolean }
  /**
   * Whether the owner of the stream has its share of the journal: then nothing is journaled but checkpoints that let the log be
   * trimmed and an ending, and the stream waits.
   */
  | { readonly kind: 'journal'; readonly isScarce: boolean }
  /** This router is leaving. */
  | { readonly kind: 'draining' }
  /** The time asked for by `wake-at` has come, or any other. */
  | { readonly kind: 'tick' };

/** What is sent to a client; the caller adds what it alone knows: stream id, epoch, model. */
export type LinkFrame<Payload> =
  | {
      readonly kind: 'opened';
      readonly acceptedInput: number;
      /** The sequence of the next output on this link. */
      readonly nextOutput: number;
      /** Counted from `acceptedInput`. */
      readonly inputCredit: FlowCredit;
    }
  | { readonly kind: 'accepted'; readonly acceptedInput: number; readonly inputCredit: FlowCredit }
  | { readonly kind: 'output'; readonly output: OutputEntry<Payload> }
  | { readonly kind: 'draining' }
  | {
      readonly kind: 'ended';
      readonly outcome: EndingOutcome;
      readonly error: StreamError | undefined;
      readonly outputs: number;
    };

export type StreamMachineAction<Payload> =
  | { readonly kind: 'append'; readonly number: number; readonly entry: StreamEntry<Payload> }
  /** Puts the snapshot in the place of all entries up to `to`, which are committed. */
  | { readonly kind: 'trim'; readonly to: number; readonly snapshot: readonly StreamEntry<Payload>[] }
  | { readonly kind: 'send'; readonly link: LinkId; readonly frame: LinkFrame<Payload> }
  | {
      readonly kind: 'run';
      readonly step: StreamStepId;
      readonly input: InputEntry<Payload>;
      /** Of a stateful model, before the input; undefined: the initial state. */
      readonly state: Payload | undefined;
      /** To run in quarantine: its worker died in an earlier attempt. */
      readonly isAlone: boolean;
      readonly deadlineAt: number;
      /** Outputs that the step may give until `grant` says more; those of an earlier attempt count. */
      readonly outputsMax: number;
      /** Outputs of this input that are journaled: the step gives them again, and they are skipped. */
      readonly journaledOutputs: number;
    }
  /** Outputs that the step may give in all, counted from its start; more than was said before. */
  | { readonly kind: 'grant'; readonly step: StreamStepId; readonly outputsMax: number }
  | { readonly kind: 'cancel-step'; readonly step: StreamStepId }
  /** Journals since when there is no client; undefined: there is one. */
  | { readonly kind: 'idle'; readonly idle: IdleSince | undefined }
  /** The stream goes on without this link. */
  | { readonly kind: 'close-link'; readonly link: LinkId; readonly error: StreamError }
  /** Replaces the time asked for before. */
  | { readonly kind: 'wake-at'; readonly at: number }
  /**
   * The stream has ended and has no client: its log stays, without owner, and can be resumed until then; after that only its
   * id stays, so that a client that comes too late does not begin another stream without noticing.
   */
  | { readonly kind: 'parked'; readonly resumableUntil: number }
  /** The stream has ended and its time to live is over: the log goes. */
  | { readonly kind: 'finished' }
  /** The log stays, and this machine no longer owns it: whoever resumes takes it over. */
  | { readonly kind: 'release'; readonly error: StreamError };
