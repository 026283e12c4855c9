/**
 * The workers of one revision: started, told what to load, started again by the restart policy when they die, and ended
 * with it. What the router's fleet does, without its promises.
 */
import {
  cleanRestartRecord,
  type ModelKey,
  type ModelPolicy,
  type RestartPolicy,
  type RestartRecord,
  restartAfter,
  type SchedulerEvent,
  type WorkerId,
} from '@millrace/core';
import { type FromSimulatedWorker, SimulatedWorker, type SimulatedWorld } from './simulated-worker.ts';

/** Quick, so that crash loops fit into the life of a world. */
const restartPolicy: RestartPolicy = { pauseMs: 10, pauseMsMax: 200, stableMs: 30_000, crashLoopDeaths: 4 };

const reloadPauseMs = 50;

export interface GroupModel {
  readonly key: ModelKey;
  readonly policy: ModelPolicy;
}

export interface SimulatedGroupListener {
  /** A first worker can run the model, or one can again. */
  servable(model: ModelKey): void;
  /** None can, and what waits for the model is refused: said before that happens. */
  losing(model: ModelKey): void;
  /** None can. */
  unservable(model: ModelKey, reason: string): void;
  /** Every worker has loaded the models once, failed to, or died. */
  settled(): void;
}

export interface GroupParts {
  readonly world: SimulatedWorld;
  readonly models: readonly GroupModel[];
  readonly workers: number;
  readonly isConcurrent: boolean;
  readonly tell: (event: SchedulerEvent) => void;
  readonly processes: Map<WorkerId, SimulatedWorker>;
  readonly nextWorker: () => WorkerId;
  readonly listener: SimulatedGroupListener;
}

interface Slot {
  worker: WorkerId;
  process: SimulatedWorker | undefined;
  record: RestartRecord;
  batchesAnswered: number;
  hasSettled: boolean;
  isStopping: boolean;
  /** What it is to serve; the number tells one load of a model from the next. */
  readonly loads: Map<ModelKey, number>;
  readonly served: Set<ModelKey>;
  readonly everServed: Set<ModelKey>;
  /** Those that it could not load, and nobody else could. */
  readonly givenUp: Set<ModelKey>;
  /** Those of which it has not said yet whether they are loaded. */
  readonly loading: Set<ModelKey>;
  /** The least urgent level it takes, of models of which it takes not all. */
  readonly reserved: Map<ModelKey, number>;
}

export class SimulatedWorkerGroup {
  readonly #parts: GroupParts;
  readonly #slots: Slot[] = [];
  /** Models that the scheduler knows by this group. */
  readonly #known = new Set<ModelKey>();
  #loadCount = 0;
  #isStopping: boolean = false;
  #onStopped: () => void = () => {};

  constructor(parts: GroupParts) {
    this.#parts = parts;
    for (let index = 0; index < parts.workers; index++) this.#add(index === 0);
  }

  get isSettled(): boolean {
    return this.#slots.every(({ hasSettled }) => hasSettled);
  }

  /** Nothing of its models waits or runs any more, or nothing ever did. */
  stop(onStopped: () => void): void {
    this.#isStopping = true;
    this.#onStopped = onStopped;
    for (const model of this.#known) this.#parts.tell({ kind: 'model-removed', model });
    this.#known.clear();
    for (const slot of this.#slots) this.#end(slot, false);
    this.#stoppedIfSo();
  }

  changeCredit(batchesMaxMin: number): void {
    const { random } = this.#parts.world;
    for (const slot of this.#slots) {
      if (batchesMaxMin > 0 || random.chance(0.5)) slot.process?.setCredit(random.integer(batchesMaxMin, 4));
    }
  }

  /** One worker more, or the last one finishes what it holds and ends. */
  resize(): void {
    if (this.#isStopping) return;
    if (this.#slots.length === 1 || this.#parts.world.random.chance(0.5)) {
      this.#add(false);
      return;
    }
    const slot = this.#slots.pop() as Slot;
    for (const { key: model } of this.#parts.models) {
      this.#parts.tell({ kind: 'worker-unserves', worker: slot.worker, model });
    }
    this.#end(slot, true);
    // It may have been the last that the others waited for.
    if (this.isSettled) this.#parts.listener.settled();
  }

  /** Takes a model off one worker for a moment. Of batches on their way the worker then says that it has no such model. */
  shuffle(): void {
    const { world, models, tell, isConcurrent } = this.#parts;
    const { random, timeline } = world;
    const slot = random.pick(this.#slots);
    const { key: model } = random.pick(models);
    if (isConcurrent || this.#isStopping || slot.process === undefined || !slot.served.has(model)) return;
    if (random.chance(0.5)) tell({ kind: 'worker-unserves', worker: slot.worker, model });
    slot.process.send({ kind: 'unload', model });
    slot.served.delete(model);
    const { process } = slot;
    timeline.after(random.integer(0, 20), () => {
      if (slot.process === process && !slot.isStopping) this.#load(slot, model);
    });
  }

  #add(isForAll: boolean): void {
    const { world, models, isConcurrent } = this.#parts;
    const { random, weather } = world;
    const slot: Slot = {
      worker: this.#parts.nextWorker(),
      process: undefined,
      record: cleanRestartRecord,
      batchesAnswered: 0,
      hasSettled: false,
      isStopping: false,
      loads: new Map(),
      served: new Set(),
      everServed: new Set(),
      givenUp: new Set(),
      loading: new Set(),
      reserved: new Map(),
    };
    for (const { key } of models) {
      // Of several models not every worker has each, but the first has all.
      if (!isForAll && models.length > 1 && random.chance(0.4)) continue;
      slot.loads.set(key, 0);
      const isReserved = !isForAll && !isConcurrent && random.chance(weather.reservedInstance);
      if (isReserved) slot.reserved.set(key, random.integer(1, 2));
    }
    if (slot.loads.size === 0) slot.hasSettled = true;
    this.#slots.push(slot);
    this.#start(slot);
  }

  #start(slot: Slot): void {
    const { world, processes, isConcurrent } = this.#parts;
    if (!world.weather.areWorkerIdsUsedAgain && slot.record.deaths > 0) slot.worker = this.#parts.nextWorker();
    slot.batchesAnswered = 0;
    slot.loading.clear();
    slot.givenUp.clear();
    slot.process = new SimulatedWorker(world, isConcurrent, (message) => this.#receive(slot, message));
    processes.set(slot.worker, slot.process);
    for (const model of slot.loads.keys()) slot.loading.add(model);
    for (const model of [...slot.loads.keys()]) this.#load(slot, model);
  }

  #load(slot: Slot, model: ModelKey): void {
    this.#loadCount += 1;
    slot.loads.set(model, this.#loadCount);
    slot.process?.send({ kind: 'load', model, load: this.#loadCount });
  }

  #end(slot: Slot, isFinishing: boolean): void {
    slot.isStopping = true;
    if (isFinishing) slot.process?.stop();
    else slot.process?.kill();
  }

  #receive(slot: Slot, message: FromSimulatedWorker): void {
    const { worker } = slot;
    const { tell } = this.#parts;
    switch (message.kind) {
      case 'credit':
        tell({ kind: 'worker-credit', worker, batchesMax: message.batchesMax });
        break;
      case 'ready':
        if (!slot.isStopping && slot.loads.get(message.model) === message.load) this.#serves(slot, message.model);
        break;
      case 'load-failed':
        if (!slot.isStopping && slot.loads.get(message.model) === message.load) this.#failed(slot, message.model);
        break;
      case 'answered':
        slot.batchesAnswered += 1;
        tell({ kind: 'batch-answered', batch: message.batch });
        break;
      case 'failed':
        tell({ kind: 'batch-failed', batch: message.batch, code: message.code, message: message.message });
        break;
      case 'gone':
        this.#gone(slot);
        break;
    }
  }

  #serves(slot: Slot, model: ModelKey): void {
    const { tell, listener, models } = this.#parts;
    slot.served.add(model);
    slot.everServed.add(model);
    const isFirst = !this.#known.has(model);
    if (isFirst) {
      this.#known.add(model);
      const { policy } = models.find(({ key }) => key === model) as GroupModel;
      tell({ kind: 'model-added', model, policy });
    }
    const priorityMax = slot.reserved.get(model) ?? Infinity;
    tell({ kind: 'worker-serves', worker: slot.worker, model, priorityMax });
    if (isFirst) {
      listener.servable(model);
      // What others can load may be good again where it was given up.
      for (const other of this.#slots) if (other.givenUp.delete(model)) this.#loadLater(other, model);
    }
    this.#settled(slot, model);
  }

  #failed(slot: Slot, model: ModelKey): void {
    this.#unservable(model, `worker ${slot.worker} could not load it`);
    this.#settled(slot, model);
    const isServed = this.#slots.some(({ served }) => served.has(model));
    if (slot.everServed.has(model) || isServed) this.#loadLater(slot, model);
    else slot.givenUp.add(model);
  }

  #loadLater(slot: Slot, model: ModelKey): void {
    const { process } = slot;
    this.#parts.world.timeline.after(reloadPauseMs, () => {
      if (slot.process === process && !slot.isStopping) this.#load(slot, model);
    });
  }

  /** Where another worker serves the model, callers notice nothing. */
  #unservable(model: ModelKey, reason: string): void {
    if (this.#isStopping || this.#slots.some(({ served }) => served.has(model))) return;
    this.#parts.listener.losing(model);
    if (this.#known.delete(model)) this.#parts.tell({ kind: 'model-removed', model });
    this.#parts.listener.unservable(model, reason);
  }

  #settled(slot: Slot, model: ModelKey): void {
    slot.loading.delete(model);
    if (slot.loading.size === 0) this.#noteSettled(slot);
  }

  #noteSettled(slot: Slot): void {
    if (slot.hasSettled) return;
    slot.hasSettled = true;
    if (!this.#isStopping && this.isSettled) this.#parts.listener.settled();
  }

  #gone(slot: Slot): void {
    const { world, processes, tell } = this.#parts;
    const aliveMs = world.timeline.nowMs - (slot.process?.startedAt ?? 0);
    const life = { aliveMs, batchesAnswered: slot.batchesAnswered };
    slot.process = undefined;
    slot.served.clear();
    processes.delete(slot.worker);
    tell({ kind: 'worker-gone', worker: slot.worker });
    if (slot.isStopping) {
      this.#stoppedIfSo();
      return;
    }
    const restart = restartAfter(slot.record, life, world.random.next(), restartPolicy);
    slot.record = restart.record;
    world.timeline.after(Math.ceil(restart.pauseMs), () => {
      if (!slot.isStopping) this.#start(slot);
    });
    if (restart.isCrashLoop) {
      for (const { key } of this.#parts.models) this.#unservable(key, 'its workers keep dying');
    }
    this.#noteSettled(slot);
  }

  #stoppedIfSo(): void {
    if (!this.#isStopping || this.#slots.some(({ process }) => process !== undefined)) return;
    const onStopped = this.#onStopped;
    this.#onStopped = () => {};
    onStopped();
  }
}
