import { assert } from '../../assert.ts';
import type { WorkerId } from '../../events.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import { InstanceEntry } from './instance-entry.ts';
import type { InstanceRecords } from './instance-records.ts';
import { WorkerEntry } from './worker-entry.ts';

/** The live workers, which models they serve, and how many could take a batch. */
export class WorkerTable {
  readonly #records: InstanceRecords;
  readonly #workersMax: number;
  readonly #workers = new Map<WorkerId, WorkerEntry>();
  #freeCount = 0;

  constructor(records: InstanceRecords, workersMax: number) {
    this.#records = records;
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

  /** The worker's entry, created when it is first mentioned. */
  entryOf(worker: WorkerId, nowMs: number): WorkerEntry {
    const known = this.#workers.get(worker);
    if (known !== undefined) return known;
    assert(this.#workers.size < this.#workersMax, 'the number of workers is at most workersMax');
    const entry = new WorkerEntry(worker, nowMs);
    this.#workers.set(worker, entry);
    return entry;
  }

  /** Repeated, it changes which requests the worker accepts. */
  serve(worker: WorkerEntry, model: ModelEntry, priorityMax: number): InstanceEntry {
    const known = takeInstance(worker, model);
    if (known !== undefined) {
      known.priorityMax = priorityMax;
      noteReserved(model);
      return known;
    }
    const record = this.#records.recordOf(worker.worker, model.key);
    const instance = new InstanceEntry(worker, model, record, priorityMax);
    worker.instances.push(instance);
    model.instances.push(instance);
    model.throughput.add(instance);
    if (instance.speed.isKnown) model.throughput.measure(instance, model.batchRowsMax);
    model.noteInstances();
    noteReserved(model);
    return instance;
  }

  unserve(worker: WorkerEntry, model: ModelEntry): void {
    const instance = takeInstance(worker, model);
    if (instance === undefined) return;
    instance.isServing = false;
    discard(worker.instances, instance);
    discard(model.instances, instance);
    model.throughput.remove(instance);
    model.noteInstances();
    noteReserved(model);
  }

  /** Call it after anything that may change a worker's room; true when it has room and had none. */
  refresh(worker: WorkerEntry): boolean {
    const isFree = worker.isFree();
    if (isFree === worker.hasCredit) return false;
    worker.hasCredit = isFree;
    this.#freeCount += isFree ? 1 : -1;
    return isFree;
  }

  remove(worker: WorkerEntry): void {
    for (const { model } of [...worker.instances]) this.unserve(worker, model);
    worker.isCondemned = true;
    this.refresh(worker);
    this.#workers.delete(worker.worker);
  }
}

function noteReserved(model: ModelEntry): void {
  model.hasReserved = model.instances.some(({ priorityMax }) => priorityMax !== Number.POSITIVE_INFINITY);
}

function takeInstance(worker: WorkerEntry, model: ModelEntry): InstanceEntry | undefined {
  return worker.instances.find((instance) => instance.model === model);
}

function discard<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
