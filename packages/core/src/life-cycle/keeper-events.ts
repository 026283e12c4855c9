/**
 * Events and actions of the keeper. A context is a model version, or all versions that share worker processes: they are
 * loaded and unloaded together. Changed files or another configuration make a new revision of it, which is loaded
 * beside the old one.
 *
 * Rules that both sides rely on:
 * - `load` is answered by `loaded` or `load-failed`, `retire` by `idle`, `unload` by `unloaded`, each once, unless the
 *   keeper has cancelled it (an `unload` of a revision that still loads, a `serve` of one that was retiring);
 * - `unload` is only decided for a revision without work: after `idle`, or before it was ever served;
 * - every `demanded` leads to exactly one `go-on` or `refuse` that names the waiter, unless it was cancelled before.
 */
import type { ErrorCode } from '@millrace/protocol';

/** For instance `mlp:1`. */
export type ContextName = string;
/** Increasing, never used twice. */
export type RevisionId = number;
export type WaiterId = number;

export type KeeperEvent =
  | {
      readonly kind: 'wanted';
      readonly context: ContextName;
      readonly revision: RevisionId;
      /** Estimated memory of the load, before it was ever measured. */
      readonly bytesExpected: number;
      /** A first load that fails is retried. */
      readonly isRetried: boolean;
    }
  /** The present revision is wanted after all: it is not dropped. */
  | { readonly kind: 'kept'; readonly context: ContextName }
  /** It drains and goes as soon as all of `after` can be served; at once when there is nothing to wait for. */
  | { readonly kind: 'unwanted'; readonly context: ContextName; readonly after: readonly ContextName[] }
  | { readonly kind: 'loaded'; readonly revision: RevisionId; readonly residentBytes: number }
  | {
      readonly kind: 'load-failed';
      readonly revision: RevisionId;
      readonly reason: string;
      /** In [0, 1): jitter for the retry. */
      readonly jitter: number;
      /** A retry would fail as well: there is none until the revision is replaced. */
      readonly isFinal?: boolean;
    }
  /** Nothing of it waits or runs any more, and nothing new can come. */
  | { readonly kind: 'idle'; readonly revision: RevisionId }
  /** Its memory is free. */
  | { readonly kind: 'unloaded'; readonly revision: RevisionId }
  | { readonly kind: 'measured'; readonly revision: RevisionId; readonly residentBytes: number }
  | { readonly kind: 'pinned'; readonly context: ContextName; readonly isPinned: boolean }
  | {
      readonly kind: 'demanded';
      readonly context: ContextName;
      /** Not used by any other waiting request. */
      readonly waiter: WaiterId;
      /** Infinity when the request has no deadline. */
      readonly deadlineAt: number;
    }
  /** The waiter has left; no action about it follows. */
  | { readonly kind: 'demand-cancelled'; readonly waiter: WaiterId }
  /** Infinity: no budget. */
  | { readonly kind: 'budget'; readonly bytesMax: number }
  /** The time asked for by `wake-at` has come. At any other time it does no harm. */
  | { readonly kind: 'tick' };

export type RetireReason = 'replaced' | 'unwanted' | 'evicted';

export type KeeperAction =
  /** Load it in processes that serve nothing else. */
  | { readonly kind: 'load'; readonly revision: RevisionId }
  /** New requests of its context go to this revision from now on. */
  | { readonly kind: 'serve'; readonly revision: RevisionId }
  /** It gets no new requests; what it has is finished. */
  | { readonly kind: 'retire'; readonly revision: RevisionId; readonly why: RetireReason }
  | { readonly kind: 'unload'; readonly revision: RevisionId }
  | {
      readonly kind: 'failed';
      readonly revision: RevisionId;
      readonly reason: string;
      /** An older revision continues to serve. */
      readonly isOldServing: boolean;
      /** Undefined: not retried automatically. */
      readonly retryInMs: number | undefined;
    }
  /** It is not in memory, and comes back on demand. */
  | { readonly kind: 'set-aside'; readonly revision: RevisionId }
  /** Nothing more will be said of it. */
  | { readonly kind: 'forget'; readonly revision: RevisionId }
  | { readonly kind: 'go-on'; readonly waiter: WaiterId }
  | {
      readonly kind: 'refuse';
      readonly waiter: WaiterId;
      readonly code: ErrorCode;
      readonly message: string;
      readonly retryAfterMs?: number;
    }
  /** Replaces the time asked for before. */
  | { readonly kind: 'wake-at'; readonly at: number };

/** What changes with every request: looked up when a decision needs it, not sent as events. */
export interface ContextUse {
  /** When the last request arrived; undefined: none yet. */
  usedAt(revision: RevisionId): number | undefined;
  /** Whether requests wait or run. */
  isInUse(revision: RevisionId): boolean;
}
