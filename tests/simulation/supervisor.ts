/** Starts workers, tells them what to load, and starts them again by the restart policy when they die. */
import {
  cleanRestartRecord,
  type ModelKey,
  type RestartRecord,
  restartAfter,
  type SchedulerEvent,
  type WorkerId,
} from '@millrace/core';
import { type FromSimulatedWorker, SimulatedWorker, type SimulatedWorld } from './simulated-worker.ts';

interface Slot {
  worker: WorkerId;
  process: SimulatedWorker | undefined;
  record: RestartRecord;
  batchesAnswered: number;
  /** What it is to serve; the number tells one load of a model from the next. */
  readonly loads: Map<ModelKey, number>;
  /** The least urgent level it takes, of models of which it takes not all. */
  readonly reserved: Map<ModelKey, number>;
}

export class Supervisor {
  readonly #world: SimulatedWorld;
  readonly #tell: (event: SchedulerEvent) => void;
  readonly #slots: Slot[] = [];
  #loadCount = 0;
  #workerCount = 0;

  constructor(world: SimulatedWorld, tell: (event: SchedulerEvent) => void) {
    this.#world = world;
    this.#tell = tell;
    for (let index = 0; index < world.weather.workerCount; index++) {
      const slot = {
        worker: 0,
        process: undefined,
        record: cleanRestartRecord,
        batchesAnswered: 0,
        loads: new Map(),
        reserved: new Map(),
      };
      this.#slots.push(slot);
      this.#start(slot);
    }
  }

  /** The living process of that id. */
  takeProcess(worker: WorkerId): SimulatedWorker | undefined {
    return this.#slots.find((slot) => slot.worker === worker)?.process;
  }

  /** Has the model loaded by some of the workers, at least by one. */
  place(model: ModelKey): void {
    const { random } = this.#world;
    const { reservedInstance } = this.#world.weather;
    const surely = random.integer(0, this.#slots.length - 1);
    for (const [index, slot] of this.#slots.entries()) {
      if (index !== surely && !random.chance(0.4)) continue;
      slot.reserved.delete(model);
      if (index !== surely && reservedInstance > 0 && random.chance(reservedInstance)) {
        slot.reserved.set(model, random.integer(1, 2));
      }
      this.#load(slot, model);
    }
  }

  /** The model was removed. */
  displace(model: ModelKey): void {
    for (const slot of this.#slots) {
      if (slot.loads.delete(model)) slot.process?.send({ kind: 'unload', model });
    }
  }

  /** Takes a model off one worker for a moment. Of batches on their way the worker then says that it has no such model. */
  shuffle(model: ModelKey): void {
    const { random, timeline } = this.#world;
    const slot = random.pick(this.#slots);
    if (slot.process === undefined || !slot.loads.has(model)) return;
    if (random.chance(0.5)) this.#tell({ kind: 'worker-unserves', worker: slot.worker, model });
    slot.process.send({ kind: 'unload', model });
    timeline.after(random.integer(0, 20), () => {
      if (slot.loads.has(model)) this.#load(slot, model);
    });
  }

  changeCredit(batchesMaxMin: number): void {
    const { random } = this.#world;
    for (const slot of this.#slots) {
      if (batchesMaxMin > 0 || random.chance(0.5)) slot.process?.setCredit(random.integer(batchesMaxMin, 4));
    }
  }

  #start(slot: Slot): void {
    this.#workerCount += 1;
    if (slot.worker === 0 || !this.#world.weather.areWorkerIdsUsedAgain) slot.worker = this.#workerCount;
    slot.batchesAnswered = 0;
    slot.process = new SimulatedWorker(this.#world, (message) => this.#receive(slot, message));
    for (const model of [...slot.loads.keys()]) this.#load(slot, model);
  }

  #load(slot: Slot, model: ModelKey): void {
    this.#loadCount += 1;
    slot.loads.set(model, this.#loadCount);
    slot.process?.send({ kind: 'load', model, load: this.#loadCount });
  }

  #receive(slot: Slot, message: FromSimulatedWorker): void {
    const { worker } = slot;
    switch (message.kind) {
      case 'credit':
        this.#tell({ kind: 'worker-credit', worker, batchesMax: message.batchesMax });
        break;
      case 'ready': {
        const isWanted = slot.loads.get(message.model) === message.load;
        const priorityMax = slot.reserved.get(message.model) ?? Infinity;
        if (isWanted) this.#tell({ kind: 'worker-serves', worker, model: message.model, priorityMax });
        break;
      }
      case 'answered':
        slot.batchesAnswered += 1;
        this.#tell({ kind: 'batch-answered', batch: message.batch });
        break;
      case 'failed':
        this.#tell({ kind: 'batch-failed', batch: message.batch, code: message.code, message: message.message });
        break;
      case 'gone':
        this.#tell({ kind: 'worker-gone', worker });
        this.#restart(slot);
        break;
    }
  }

  #restart(slot: Slot): void {
    const { timeline, random } = this.#world;
    const aliveMs = timeline.nowMs - (slot.process?.startedAt ?? 0);
    const life = { aliveMs, batchesAnswered: slot.batchesAnswered };
    const restart = restartAfter(slot.record, life, random.next());
    slot.record = restart.record;
    slot.process = undefined;
    timeline.after(Math.ceil(restart.pauseMs), () => this.#start(slot));
  }
}
