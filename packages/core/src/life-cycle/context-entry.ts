import type { ContextName, RevisionId, WaiterId } from './keeper-events.ts';

/**
 * queued → loading → ready → retiring → unloading, and from there to evicted (loaded again on demand), failed (may be
 * retried) or nothing.
 */
export type RevisionState = 'queued' | 'loading' | 'ready' | 'retiring' | 'unloading' | 'evicted' | 'failed';

export class RevisionEntry {
  readonly id: RevisionId;
  readonly context: ContextEntry;
  readonly isRetried: boolean;
  state: RevisionState = 'queued';
  /** Its state once it is unloaded. */
  afterUnload: 'evicted' | 'failed' | 'forgotten' = 'forgotten';
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

  constructor(id: RevisionId, context: ContextEntry, bytes: number, isRetried: boolean) {
    this.id = id;
    this.context = context;
    this.bytes = bytes;
    this.isRetried = isRetried;
  }

  get isInMemory(): boolean {
    const { state } = this;
    return state === 'loading' || state === 'ready' || state === 'retiring' || state === 'unloading';
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
