import { assert } from '../../assert.ts';
import type { ModelPolicy } from '../../model-policy.ts';
import type { RequestEntry } from '../requests/request-entry.ts';
import { quantumFor } from './caller-ring.ts';
import { PriorityLevel } from './priority-level.ts';

/** The waiting requests of one model by priority level, with their counts. */
export class WaitingRequests {
  /** The most urgent first. */
  levels: readonly PriorityLevel[] = [];
  requestCount = 0;
  rowCount = 0;
  byteCount = 0;
  #priorityDefault = 1;

  constructor(policy: ModelPolicy) {
    this.setPolicy(policy);
  }

  /** The request that would lead the next batch, approximately; undefined when nothing waits. */
  get head(): RequestEntry | undefined {
    for (const level of this.levels) if (level.requestCount > 0) return level.head;
    return undefined;
  }

  /** As in `PriorityLevel`, of any level. */
  hasAny(isFound: (entry: RequestEntry) => boolean): boolean {
    return this.levels.some((level) => level.requestCount > 0 && level.hasAny(isFound));
  }

  /** Those with requests that wait. */
  callers(): ReadonlySet<string> {
    const callers = new Set<string>();
    for (const level of this.levels) {
      level.hasAny(({ caller }) => {
        callers.add(caller);
        return false;
      });
    }
    return callers;
  }

  /** Whether a request that ran on a worker when it died may lead the next batch. */
  get isSuspectNext(): boolean {
    for (const level of this.levels) if (level.requestCount > 0) return level.suspectCount > 0;
    return false;
  }

  /** Reorders waiting requests by the new policy; their queue timeouts stay as they were on arrival. */
  setPolicy(policy: ModelPolicy): void {
    const isSame = policy.queues.length === this.levels.length && policy.priorityDefault === this.#priorityDefault;
    this.#priorityDefault = policy.priorityDefault;
    if (!isSame) {
      const waiting = this.entries();
      for (const entry of waiting) this.remove(entry);
      this.levels = policy.queues.map(() => new PriorityLevel());
      waiting.sort((left, right) => left.arrival - right.arrival);
      for (const entry of waiting) this.add(entry, false);
    }
    for (const { ring } of this.levels) ring.quantum = quantumFor(policy.rowsMax);
  }

  /** The index in `levels` of a request with this priority, from 1. */
  levelIndexOf(priority: number): number {
    return (priority >= 1 && priority <= this.levels.length ? Math.floor(priority) : this.#priorityDefault) - 1;
  }

  /** Rows that wait at this level, counted from 0, and at more urgent ones. */
  rowsUpTo(level: number): number {
    if (level === this.levels.length - 1) return this.rowCount;
    let rows = 0;
    for (let index = 0; index <= level; index++) rows += this.levels[index]?.rowCount ?? 0;
    return rows;
  }

  add(entry: RequestEntry, isComingBack: boolean): void {
    entry.level = this.levelIndexOf(entry.priority);
    this.#levelOf(entry).add(entry, isComingBack);
    this.requestCount += 1;
    this.rowCount += entry.rows;
    this.byteCount += entry.bytes;
  }

  /** Puts requests back, given in order of arrival. With the youngest first, each finds its old place at once. */
  putBack(entries: readonly RequestEntry[]): void {
    for (let index = entries.length - 1; index >= 0; index--) this.add(entries[index] as RequestEntry, true);
  }

  remove(entry: RequestEntry): void {
    assert(entry.isWaiting, 'only a waiting request can leave its queue');
    this.#levelOf(entry).remove(entry);
    this.requestCount -= 1;
    this.rowCount -= entry.rows;
    this.byteCount -= entry.bytes;
  }

  delay(entry: RequestEntry): void {
    this.#levelOf(entry).delay(entry);
  }

  /** All waiting requests: level by level, otherwise in no particular order. */
  entries(): RequestEntry[] {
    const entries: RequestEntry[] = [];
    for (const level of this.levels) level.addTo(entries);
    return entries;
  }

  #levelOf(entry: RequestEntry): PriorityLevel {
    return this.levels[entry.level] as PriorityLevel;
  }
}
