import { cleanRestartRecord, type RestartRecord } from '../restart-policy.ts';
import type { ContextName, RevisionId, WaiterId } from './keeper-events.ts';

/**
 * queued → loading → ready → retiring → unloading, and from there to evicted (comes back on demand), failed (may be
 * tried again) or nothing.
 */
export type RevisionState = 'queued' | 'loading' | 'ready' | 'retiring' | 'unloading' | 'evicted' | 'failed';

export class RevisionEntry {
  readonly id: RevisionId;
  readonly context: ContextEntry;
  readonly isRetried: boolean;
  state: RevisionState = 'queued';
  /** What becomes of it once it is unloaded. */
  afterUnload: 'evicted' | 'failed' | 'forgotten' = 'forgotten';
  /** What it holds in memory, or is expected to. */
  bytes: number;
  /** It was loaded before, so `bytes` is a measurement. */
  isMeasured: boolean = false;
  /** It may hold more than the room that was made for it: from the start of such a load to its end or its unload. */
  isUnsure: boolean = false;
  readyAt = 0;
  /** Its last use before it became ready: another one since means that it has been used. */
  usedBefore: number | undefined = undefined;
  /** Requests were let go on when it became ready, and may not have come yet. */
  isAwaited: boolean = false;
  reason = '';
  retryAt = Number.POSITIVE_INFINITY;
  record: RestartRecord = cleanRestartRecord;

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

  /** Served, or served again as soon as somebody asks. */
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
  /** Serves, or will; undefined only while the context is made. */
  current: RevisionEntry | undefined = undefined;
  /** Is brought up to take the place of `current`, which is ready. */
  next: RevisionEntry | undefined = undefined;
  isPinned: boolean = false;
  waiters: ContextWaiter[] = [];
  /** When it was first asked for while it was not in memory. */
  demandedAt = Number.POSITIVE_INFINITY;
  /** Goes as soon as these can be served. */
  dropAfter: readonly ContextName[] | undefined = undefined;
  /** Of its last revision that was measured. */
  bytesMeasured: number | undefined = undefined;

  constructor(name: ContextName) {
    this.name = name;
  }

  /** Somebody wants it in memory, not only on the list. */
  get isCalledFor(): boolean {
    return this.isPinned || this.waiters.length > 0;
  }
}
