import { assert } from '../assert.ts';
import type { WorkerId } from '../events.ts';
import type { ModelEntry } from './model-entry.ts';
import { WorkerEntry } from './worker-entry.ts';
import type { WorkerHealth } from './worker-health.ts';

/** The workers that are alive, who of them serves what, and how many could take a batch. */
export class WorkerTable {
  readonly #health: WorkerHealth;
  readonly #workersMax: number;
  readonly #workers = new Map<WorkerId, WorkerEntry>();
  #freeCount = 0;

  constructor(health: WorkerHealth, workersMax: number) {
    this.#health = health;
    this.#workersMax = workersMax;
  }

  get count(): number {
    return this.#workers.size;
  }

  /** Workers that could take a batch now. */
  get freeCount(): number {
    return this.#freeCount;
  }

  values(): IterableIterator<WorkerEntry> {
    return this.#workers.values();
  }

  takeKnown(worker: WorkerId): WorkerEntry | undefined {
    return this.#workers.get(worker);
  }

  /** The worker's entry, made at the first word of it. */
  entryOf(worker: WorkerId, nowMs: number): WorkerEntry {
    const known = this.#workers.get(worker);
    if (known !== undefined) return known;
    assert(this.#workers.size < this.#workersMax, 'no more workers than workersMax');
    const entry = new WorkerEntry(worker, this.#health.recordOf(worker), nowMs);
    this.#workers.set(worker, entry);
    return entry;
  }

  serve(worker: WorkerEntry, model: ModelEntry): void {
    if (worker.models.includes(model)) return;
    worker.models.push(model);
    model.workers.push(worker);
  }

  unserve(worker: WorkerEntry, model: ModelEntry): void {
    discard(worker.models, model);
    discard(model.workers, worker);
  }

  /** To be called after whatever may change a worker's room; true when it has room and had none. */
  refresh(worker: WorkerEntry): boolean {
    const isFree = worker.isFree();
    if (isFree === worker.hasCredit) return false;
    worker.hasCredit = isFree;
    this.#freeCount += isFree ? 1 : -1;
    return isFree;
  }

  remove(worker: WorkerEntry): void {
    for (const model of [...worker.models]) this.unserve(worker, model);
    worker.isCondemned = true;
    this.refresh(worker);
    this.#workers.delete(worker.worker);
  }
}

function discard<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
