import type { ModelEntry } from '../models/model-entry.ts';
import { type BreakerPolicy, CircuitBreaker } from './circuit-breaker.ts';
import { RunSpeed } from './run-speed.ts';
import type { WorkerEntry } from './worker-entry.ts';

/** What was measured of a model on a worker. It outlives the worker: its replacement has the same device. */
export class InstanceRecord {
  readonly breaker: CircuitBreaker;
  readonly speed = new RunSpeed();

  constructor(policy: BreakerPolicy) {
    this.breaker = new CircuitBreaker(policy);
  }
}

/** A model on a worker that serves it. */
export class InstanceEntry {
  readonly worker: WorkerEntry;
  readonly model: ModelEntry;
  readonly breaker: CircuitBreaker;
  readonly speed: RunSpeed;
  /** It accepts only requests of this priority level, from 1, and more urgent ones; Infinity: all. */
  priorityMax: number;
  /** What it adds to the throughput of its model; 0 until it was measured. */
  rowsPerMs = 0;
  /** Until the worker or the model is removed, or the worker says that it no longer serves the model. */
  isServing: boolean = true;

  constructor(worker: WorkerEntry, model: ModelEntry, record: InstanceRecord, priorityMax: number) {
    this.worker = worker;
    this.model = model;
    this.breaker = record.breaker;
    this.speed = record.speed;
    this.priorityMax = priorityMax;
  }

  /** `level` counts from 0. */
  takesLevel(level: number): boolean {
    return level < this.priorityMax;
  }

  /**
   * Expected run time in milliseconds of a batch of this many rows; what was not measured here is taken from its peers.
   */
  expectedMs(rows: number): number {
    return this.speed.isKnown ? this.speed.runMs(rows) : this.model.speed.runMs(rows);
  }

  /** Failure share of the recent batches of the model's other instances; undefined when they ran none. */
  peersFailureShare(nowMs: number): number | undefined {
    let batches = 0;
    let failures = 0;
    for (const peer of this.model.instances) {
      if (peer === this) continue;
      batches += peer.breaker.tally.batches(nowMs);
      failures += peer.breaker.tally.failures(nowMs);
    }
    return batches >= 1 ? failures / batches : undefined;
  }
}
