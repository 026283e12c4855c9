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

interface Supervisor {
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
  /** The least urgent priority level that it takes, by model; models whose requests it takes all are not listed. */
  readonly reserved: Map<ModelKey, number>;
}

export class SimulatedWorkerGroup {
  readonly #parts: GroupParts;
  readonly #supervisors: Supervisor[] = [];
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
    return this.#supervisors.every(({ hasSettled }) => hasSettled);
  }

  /** Nothing of its models waits or runs any more, or nothing ever did. */
  stop(onStopped: () => void): void {
    this.#isStopping = true;
    this.#onStopped = onStopped;
    for (const model of this.#known) this.#parts.tell({ kind: 'model-removed', model });
    this.#known.clear();
    for (const supervisor of this.#supervisors) this.#end(supervisor, false);
    this.#stoppedIfSo();
  }

  changeCredit(batchesMaxMin: number): void {
    const { random } = this.#parts.world;
    for (const supervisor of this.#supervisors) {
      if (batchesMaxMin > 0 || random.chance(0.5)) supervisor.process?.setCredit(random.integer(batchesMaxMin, 4));
    }
  }

  /** One worker more, or the last one finishes what it holds and ends. */
  resize(): void {
    if (this.#isStopping) return;
    if (this.#supervisors.length === 1 || this.#parts.world.random.chance(0.5)) {
      this.#add(false);
      return;
    }
    const supervisor = this.#supervisors.pop() as Supervisor;
    for (const { key: model } of this.#parts.models) {
      this.#parts.tell({ kind: 'worker-unserves', worker: supervisor.worker, model });
    }
    this.#end(supervisor, true);
    // It may have been the last that the others waited for.
    if (this.isSettled) this.#parts.listener.settled();
  }

  /** Takes a model off one worker for a moment. Of batches on their way the worker then says that it has no such model. */
  shuffle(): void {
    const { world, models, tell, isConcurrent } = this.#parts;
    const { random, timeline } = world;
    const supervisor = random.pick(this.#supervisors);
    const { key: model } = random.pick(models);
    if (isConcurrent || this.#isStopping || supervisor.process === undefined || !supervisor.served.has(model)) return;
    if (random.chance(0.5)) tell({ kind: 'worker-unserves', worker: supervisor.worker, model });
    supervisor.process.send({ kind: 'unload', model });
    supervisor.served.delete(model);
    const { process } = supervisor;
    timeline.after(random.integer(0, 20), () => {
      if (supervisor.process === process && !supervisor.isStopping) this.#load(supervisor, model);
    });
  }

  #add(isForAll: boolean): void {
    const { world, models, isConcurrent } = this.#parts;
    const { random, weather } = world;
    const supervisor: Supervisor = {
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
      supervisor.loads.set(key, 0);
      const isReserved = !isForAll && !isConcurrent && random.chance(weather.reservedInstance);
      if (isReserved) supervisor.reserved.set(key, random.integer(1, 2));
    }
    if (supervisor.loads.size === 0) supervisor.hasSettled = true;
    this.#supervisors.push(supervisor);
    this.#start(supervisor);
  }

  #start(supervisor: Supervisor): void {
    const { world, processes, isConcurrent } = this.#parts;
    if (!world.weather.areWorkerIdsUsedAgain && supervisor.record.deaths > 0)
      supervisor.worker = this.#parts.nextWorker();
    supervisor.batchesAnswered = 0;
    supervisor.loading.clear();
    supervisor.givenUp.clear();
    supervisor.process = new SimulatedWorker(world, isConcurrent, (message) => this.#receive(supervisor, message));
    processes.set(supervisor.worker, supervisor.process);
    for (const model of supervisor.loads.keys()) supervisor.loading.add(model);
    for (const model of [...supervisor.loads.keys()]) this.#load(supervisor, model);
  }

  #load(supervisor: Supervisor, model: ModelKey): void {
    this.#loadCount += 1;
    supervisor.loads.set(model, this.#loadCount);
    supervisor.process?.send({ kind: 'load', model, load: this.#loadCount });
  }

  #end(supervisor: Supervisor, isFinishing: boolean): void {
    supervisor.isStopping = true;
    if (isFinishing) supervisor.process?.stop();
    else supervisor.process?.kill();
  }

  #receive(supervisor: Supervisor, message: FromSimulatedWorker): void {
    const { worker } = supervisor;
    const { tell } = this.#parts;
    switch (message.kind) {
      case 'credit':
        tell({ kind: 'worker-credit', worker, batchesMax: message.batchesMax });
        break;
      case 'ready':
        if (!supervisor.isStopping && supervisor.loads.get(message.model) === message.load)
          this.#serves(supervisor, message.model);
        break;
      case 'load-failed':
        if (!supervisor.isStopping && supervisor.loads.get(message.model) === message.load)
          this.#failed(supervisor, message.model);
        break;
      case 'answered':
        supervisor.batchesAnswered += 1;
        tell({ kind: 'batch-answered', batch: message.batch });
        break;
      case 'failed':
        tell({ kind: 'batch-failed', batch: message.batch, code: message.code, message: message.message });
        break;
      case 'gone':
        this.#gone(supervisor);
        break;
    }
  }

  #serves(supervisor: Supervisor, model: ModelKey): void {
    const { tell, listener, models } = this.#parts;
    supervisor.served.add(model);
    supervisor.everServed.add(model);
    const isFirst = !this.#known.has(model);
    if (isFirst) {
      this.#known.add(model);
      const { policy } = models.find(({ key }) => key === model) as GroupModel;
      tell({ kind: 'model-added', model, policy });
    }
    const priorityMax = supervisor.reserved.get(model) ?? Infinity;
    tell({ kind: 'worker-serves', worker: supervisor.worker, model, priorityMax });
    if (isFirst) {
      listener.servable(model);
      // What others can load may be good again where it was given up.
      for (const other of this.#supervisors) if (other.givenUp.delete(model)) this.#loadLater(other, model);
    }
    this.#settled(supervisor, model);
  }

  #failed(supervisor: Supervisor, model: ModelKey): void {
    this.#unservable(model, `worker ${supervisor.worker} could not load it`);
    this.#settled(supervisor, model);
    const isServed = this.#supervisors.some(({ served }) => served.has(model));
    if (supervisor.everServed.has(model) || isServed) this.#loadLater(supervisor, model);
    else supervisor.givenUp.add(model);
  }

  #loadLater(supervisor: Supervisor, model: ModelKey): void {
    const { process } = supervisor;
    this.#parts.world.timeline.after(reloadPauseMs, () => {
      if (supervisor.process === process && !supervisor.isStopping) this.#load(supervisor, model);
    });
  }

  /** Where another worker serves the model, callers notice nothing. */
  #unservable(model: ModelKey, reason: string): void {
    if (this.#isStopping || this.#supervisors.some(({ served }) => served.has(model))) return;
    this.#parts.listener.losing(model);
    if (this.#known.delete(model)) this.#parts.tell({ kind: 'model-removed', model });
    this.#parts.listener.unservable(model, reason);
  }

  #settled(supervisor: Supervisor, model: ModelKey): void {
    supervisor.loading.delete(model);
    if (supervisor.loading.size === 0) this.#noteSettled(supervisor);
  }

  #noteSettled(supervisor: Supervisor): void {
    if (supervisor.hasSettled) return;
    supervisor.hasSettled = true;
    if (!this.#isStopping && this.isSettled) this.#parts.listener.settled();
  }

  #gone(supervisor: Supervisor): void {
    const { world, processes, tell } = this.#parts;
    const aliveMs = world.timeline.nowMs - (supervisor.process?.startedAt ?? 0);
    const life = { aliveMs, batchesAnswered: supervisor.batchesAnswered };
    supervisor.process = undefined;
    supervisor.served.clear();
    processes.delete(supervisor.worker);
    tell({ kind: 'worker-gone', worker: supervisor.worker });
    if (supervisor.isStopping) {
      this.#stoppedIfSo();
      return;
    }
    const restart = restartAfter(supervisor.record, life, world.random.next(), restartPolicy);
    supervisor.record = restart.record;
    world.timeline.after(Math.ceil(restart.pauseMs), () => {
      if (!supervisor.isStopping) this.#start(supervisor);
    });
    if (restart.isCrashLoop) {
      for (const { key } of this.#parts.models) this.#unservable(key, 'its workers keep dying');
    }
    this.#noteSettled(supervisor);
  }

  #stoppedIfSo(): void {
    if (!this.#isStopping || this.#supervisors.some(({ process }) => process !== undefined)) return;
    const onStopped = this.#onStopped;
    this.#onStopped = () => {};
    onStopped();
  }
}
