import type { ModelKey, WorkerId } from '../../events.ts';
import type { BreakerPolicy } from './circuit-breaker.ts';
import { InstanceRecord } from './instance-entry.ts';

/**
 * The records by worker and model. Those of at most `workersMax` workers are kept; the oldest worker is dropped first.
 */
export class InstanceRecords {
  readonly #policy: BreakerPolicy;
  readonly #workersMax: number;
  readonly #byWorker = new Map<WorkerId, Map<ModelKey, InstanceRecord>>();

  constructor(policy: BreakerPolicy, workersMax: number) {
    this.#policy = policy;
    this.#workersMax = workersMax;
  }

  get workerCount(): number {
    return this.#byWorker.size;
  }

  recordOf(worker: WorkerId, model: ModelKey): InstanceRecord {
    const records = this.#byWorker.get(worker) ?? this.#addWorker(worker);
    let record = records.get(model);
    if (record === undefined) {
      record = new InstanceRecord(this.#policy);
      records.set(model, record);
    }
    return record;
  }

  /** The model is removed for good; another one under its key starts with no record. */
  forgetModel(model: ModelKey): void {
    for (const [worker, records] of this.#byWorker) {
      // Workers without another record are removed with it: every later removal would iterate over them.
      if (records.delete(model) && records.size === 0) this.#byWorker.delete(worker);
    }
  }

  #addWorker(worker: WorkerId): Map<ModelKey, InstanceRecord> {
    if (this.#byWorker.size >= this.#workersMax) {
      const [first] = this.#byWorker.keys();
      if (first !== undefined) this.#byWorker.delete(first);
    }
    const records = new Map<ModelKey, InstanceRecord>();
    this.#byWorker.set(worker, records);
    return records;
  }
}
