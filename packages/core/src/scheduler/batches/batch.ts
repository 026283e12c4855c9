import type { BatchId, RequestId } from '../../events.ts';
import type { InstanceEntry } from '../instances/instance-entry.ts';
import type { WorkerEntry } from '../instances/worker-entry.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { RequestEntry } from '../requests/request-entry.ts';

/** Requests that were sent to a worker together. It is in flight until the worker answers it, fails it or dies. */
export class Batch {
  readonly id: BatchId;
  readonly instance: InstanceEntry;
  readonly worker: WorkerEntry;
  readonly model: ModelEntry;
  /** As dispatched. Some may have been cancelled since: `isIn` tells. */
  readonly entries: RequestEntry[];
  readonly requests: readonly RequestId[];
  readonly rows: number;
  /** What its model was charged for it, in milliseconds of worker time. */
  readonly chargedMs: number;
  /** Its expected run time; 0 when nothing is known. */
  readonly expectedMs: number;
  readonly dispatchedAt: number;
  /** Its worker runs it beside others. */
  readonly isConcurrent: boolean;
  /** Whose run it is; empty: of nobody in particular. */
  readonly caller: string;
  /** When its worker began it; Infinity while another batch is ahead of it. */
  startedAt = Number.POSITIVE_INFINITY;
  /** When it has run too long; Infinity before it runs. */
  runLimitAt = Number.POSITIVE_INFINITY;
  /** It has run too long, and its worker was killed for that. */
  isOverdue: boolean = false;
  /** Another batch ran on its worker at the same time, if only for a part of the run. */
  hadCompany: boolean = false;
  /** A part of its answer was delivered: it is not run again. */
  hasProgressed: boolean = false;
  /** Since when its caller takes no answers; Infinity: it does. */
  unreadSince = Number.POSITIVE_INFINITY;
  /** It was told to end because nobody read its answers. */
  hasGivenWay: boolean = false;
  /** How long it ran, once it has ended; 0 when it did not run, or another batch was ahead of it. */
  ranMs = 0;
  liveCount: number;
  #hasCredit: boolean = true;

  constructor(id: BatchId, instance: InstanceEntry, entries: RequestEntry[], nowMs: number) {
    const { worker, model } = instance;
    this.id = id;
    this.instance = instance;
    this.worker = worker;
    this.model = model;
    this.entries = entries;
    this.requests = entries.map((entry) => entry.request);
    let rows = 0;
    for (const entry of entries) {
      entry.batch = this;
      rows += entry.rows;
    }
    this.rows = rows;
    this.chargedMs = model.share.charge(rows);
    this.expectedMs = instance.expectedMs(rows);
    this.dispatchedAt = nowMs;
    this.isConcurrent = model.policy.isConcurrent;
    this.caller = this.isConcurrent && entries.length === 1 ? (entries[0] as RequestEntry).caller : '';
    this.liveCount = entries.length;
  }

  /** A death of its worker during the run can only be caused by its single request. */
  get isSole(): boolean {
    return this.entries.length === 1 && !this.hadCompany;
  }

  start(nowMs: number): void {
    this.startedAt = nowMs;
    this.extendRun(nowMs);
  }

  /** Its worker has done something for it: its run limit starts again. */
  extendRun(nowMs: number): void {
    if (this.#hasCredit && this.startedAt !== Number.POSITIVE_INFINITY) {
      this.runLimitAt = nowMs + this.model.policy.runMsMax;
    }
  }

  /** Without credit it waits for its caller, for as long as that takes. */
  setCredit(hasCredit: boolean, nowMs: number): void {
    if (hasCredit) this.unreadSince = Number.POSITIVE_INFINITY;
    else if (this.#hasCredit) this.unreadSince = nowMs;
    this.#hasCredit = hasCredit;
    if (hasCredit) this.extendRun(nowMs);
    else this.runLimitAt = Number.POSITIVE_INFINITY;
  }

  /** A worker died of it, or of something that ran at the same time. */
  get isSuspect(): boolean {
    return this.entries.some((entry) => entry.deaths > 0);
  }

  /** Whether the request still waits for this batch. */
  isIn(entry: RequestEntry): boolean {
    return entry.batch === this;
  }

  leave(entry: RequestEntry): void {
    entry.batch = undefined;
    this.liveCount -= 1;
  }

  /**
   * Call it when the batch is finished: an old array keeps its elements alive until the next full garbage collection.
   */
  forgetEntries(): void {
    this.entries.length = 0;
  }

  /** Empties the batch; returns the requests that were still waiting, in row order. */
  disband(): readonly RequestEntry[] {
    const { entries } = this;
    const live = this.liveCount === entries.length ? entries : entries.filter((entry) => this.isIn(entry));
    for (const entry of live) entry.batch = undefined;
    this.liveCount = 0;
    return live;
  }
}
