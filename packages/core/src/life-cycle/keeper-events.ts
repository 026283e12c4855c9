/**
 * Events and actions of the keeper. A context is a model version, or all versions that share worker processes: they are
 * loaded and unloaded together. Changed files or another configuration make a new revision of it, which is loaded
 * beside the old one. The keeper owns the state of every version, and says whenever it changes.
 *
 * Rules that both sides rely on:
 * - `load` is answered by a report (`servable`, `unservable` or `pending`) for each version of the revision, and by
 *   `settled`; reports come again whenever the workers change;
 * - `retire` is answered by `idle`, `unload` by `unloaded`, each once, unless the keeper has cancelled it (a `serve` of a
 *   revision that was retiring);
 * - `unload` is only decided for a revision without work: after `idle`, or before it was ever served;
 * - every `demanded` leads to exactly one `go-on` or `refuse` that names the waiter, unless it was cancelled before.
 */
import type { ErrorCode } from '@millrace/protocol';
import type { VersionName, VersionStatus } from './version-status.ts';
import type { UnreadableVersion } from './version-table.ts';

/** For instance `mlp:1`. */
export type ContextName = string;
/** Increasing, never used twice. */
export type RevisionId = number;
export type WaiterId = number;

/** A revision to be loaded when there is room for it. */
export interface WantedRevision {
  readonly context: ContextName;
  readonly revision: RevisionId;
  /** The versions that it consists of; reports refer to their positions. */
  readonly versions: readonly VersionName[];
  /** Estimated memory of the load, before it was ever measured. */
  readonly bytesExpected: number;
  /** A load that fails, and may succeed later, is retried. */
  readonly isRetried: boolean;
  /** Streams of an earlier process wait for it: it is loaded before those that nobody waits for. */
  readonly hasOpenStreams: boolean;
}

/** One version of a revision, by its position in `WantedRevision.versions`. */
export interface MemberName {
  readonly revision: RevisionId;
  readonly member: number;
}

export type KeeperEvent =
  /** Those that belong together come together: none of them is loaded before all are known. */
  | { readonly kind: 'wanted'; readonly revisions: readonly WantedRevision[] }
  /** The present revision is wanted after all: it is not dropped. */
  | { readonly kind: 'kept'; readonly context: ContextName }
  /** It drains and goes as soon as all of `after` can be served; at once when there is nothing to wait for. */
  | { readonly kind: 'unwanted'; readonly context: ContextName; readonly after: readonly ContextName[] }
  /** A worker can run the version. `residentBytes` is the memory of the whole revision now, here and below. */
  | (MemberName & { readonly kind: 'servable'; readonly residentBytes: number })
  | (MemberName & {
      readonly kind: 'unservable';
      readonly residentBytes: number;
      readonly reason: string;
      /** With the same files another load would fail as well. */
      readonly isFinal: boolean;
      /** In [0, 1): jitter for the retry. */
      readonly jitter: number;
    })
  /** It needs no load of its own, and waits for others: it counts as loading, for this reason. */
  | (MemberName & { readonly kind: 'pending'; readonly reason: string })
  /** Every worker of the revision has tried its loads once, or has exited. */
  | { readonly kind: 'settled'; readonly revision: RevisionId; readonly residentBytes: number }
  /** What cannot be read of a model's files; replaces what was told before. */
  | { readonly kind: 'unreadable'; readonly model: string; readonly versions: readonly UnreadableVersion[] }
  /** All that was found at the start has been told: the start is over when none of it is loading any more. */
  | { readonly kind: 'started' }
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
  /** Load it in processes that serve nothing else. `attempt` counts from 1 the loads that have not succeeded. */
  | { readonly kind: 'load'; readonly revision: RevisionId; readonly attempt: number }
  /** New requests of its context go to this revision from now on; `members` are those that a worker can run. */
  | { readonly kind: 'serve'; readonly revision: RevisionId; readonly members: readonly number[] }
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
  /** The state of a version has changed. `by` names what represents it; undefined: nothing of it could ever be read. */
  | (VersionName & {
      readonly kind: 'version-state';
      readonly by: MemberName | undefined;
      readonly status: VersionStatus;
    })
  /** Nothing is known of the version any more. */
  | (VersionName & { readonly kind: 'version-removed' })
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
