import type { ContextName, RevisionId, WaiterId, WantedRevision } from './keeper-events.ts';
import type { VersionName } from './version-status.ts';

/**
 * queued → loading → ready → retiring → unloading, and from there to evicted (loaded again on demand), failed (may be
 * retried) or nothing.
 */
export type RevisionState = 'queued' | 'loading' | 'ready' | 'retiring' | 'unloading' | 'evicted' | 'failed';

/** A version as part of a revision. */
export interface MemberEntry extends VersionName {
  /** What was last said of it since the load began. */
  report: 'none' | 'servable' | 'unservable' | 'pending';
  /** Why it is not servable, also from the attempt before; empty when it is. */
  reason: string;
  /** With the same files another load would fail as well. */
  isFinal: boolean;
}

export class RevisionEntry {
  readonly id: RevisionId;
  readonly context: ContextEntry;
  readonly isRetried: boolean;
  readonly hasOpenStreams: boolean;
  readonly members: readonly MemberEntry[];
  readonly #onState: (revision: RevisionEntry) => void;
  #state: RevisionState = 'queued';
  /** Its state once it is unloaded. */
  afterUnload: 'evicted' | 'failed' | 'forgotten' = 'forgotten';
  /** The next request loads it, or the load that a request asked for is under way. */
  isOnDemand: boolean = false;
  /** Every worker of the current load has tried once. */
  isSettled: boolean = false;
  /** The jitter that came with its last failure. */
  jitter = 0;
  /** Memory that it holds, or is expected to hold. */
  bytes: number;
  /** It was loaded before, so `bytes` is a measurement. */
  isMeasured: boolean = false;
  /** It may hold more than was evicted for it: from the start of such a load to its end or its unload. */
  isUnsure: boolean = false;
  readyAt = 0;
  /** Its last use before it became ready: a later one means that it has been used since. */
  usedBefore: number | undefined = undefined;
  /** Waiting requests were released when it became ready, and may not have arrived yet. */
  isAwaited: boolean = false;
  reason = '';
  retryAt = Number.POSITIVE_INFINITY;
  /** Failed loads in a row. */
  failures = 0;

  constructor(wanted: WantedRevision, context: ContextEntry, onState: (revision: RevisionEntry) => void) {
    this.id = wanted.revision;
    this.context = context;
    this.isRetried = wanted.isRetried;
    this.hasOpenStreams = wanted.hasOpenStreams;
    this.bytes = context.bytesMeasured ?? wanted.bytesExpected;
    this.members = wanted.versions.map((name) => ({ ...name, report: 'none', reason: '', isFinal: false }));
    this.#onState = onState;
  }

  get state(): RevisionState {
    return this.#state;
  }

  set state(state: RevisionState) {
    this.#state = state;
    this.#onState(this);
  }

  get isInMemory(): boolean {
    const { state } = this;
    return state === 'loading' || state === 'ready' || state === 'retiring' || state === 'unloading';
  }

  /** Another has replaced it, or it is no longer wanted: it is only finished and unloaded. */
  get isOver(): boolean {
    return this.isLeaving && this.afterUnload === 'forgotten';
  }

  get isLeaving(): boolean {
    return this.state === 'retiring' || this.state === 'unloading';
  }

  /** Ready, or loaded again as soon as a request asks for it. */
  get isAvailable(): boolean {
    if (this.state === 'ready' || this.state === 'evicted') return true;
    return this.isLeaving ? this.afterUnload === 'evicted' : this.isMeasured && this.state !== 'failed';
  }
}

export interface ContextWaiter {
  readonly waiter: WaiterId;
  readonly deadlineAt: number;
}

export class ContextEntry {
  readonly name: ContextName;
  /** Serves, or will; undefined only while the context is constructed. */
  current: RevisionEntry | undefined = undefined;
  /** Is being loaded to replace `current`, which is ready. */
  next: RevisionEntry | undefined = undefined;
  isPinned: boolean = false;
  waiters: ContextWaiter[] = [];
  /** When it was first requested while it was not in memory. */
  demandedAt = Number.POSITIVE_INFINITY;
  /** Dropped as soon as these can be served. */
  dropAfter: readonly ContextName[] | undefined = undefined;
  /** Size of its last revision that was measured. */
  bytesMeasured: number | undefined = undefined;

  constructor(name: ContextName) {
    this.name = name;
  }

  /** A request waits for it or it is pinned: it should be in memory, not only available. */
  get isCalledFor(): boolean {
    return this.isPinned || this.waiters.length > 0;
  }
}
