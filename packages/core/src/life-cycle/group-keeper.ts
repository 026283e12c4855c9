/**
 * Keeps the workers of one group: decides when a worker is started, replaced, stopped and killed, which model it loads
 * and when again, and whether the group can serve a model. Pure: events and the time go in, actions come out.
 *
 * A load that failed is tried again after pauses that double, unless it failed for good; a load that another worker
 * manages is tried again soon in any case. A worker that exits is replaced as the restart policy says; when it is in a
 * crash loop, or did not load a model in time, a model that no other worker serves is reported as unservable.
 */
import type { ModelKey, WorkerId } from '../events.ts';
import { pauseAfter, restartAfter } from '../restart-policy.ts';
import { type GroupConfig, resolveGroupConfig } from './group-config.ts';
import type { GroupAction, GroupEvent } from './group-events.ts';
import { GroupWorker, ModelLoad } from './group-worker.ts';

type EventOf<Kind extends GroupEvent['kind']> = Extract<GroupEvent, { readonly kind: Kind }>;

export class GroupKeeper {
  readonly #config: GroupConfig;
  readonly #models: Set<ModelKey>;
  readonly #nextWorker: () => WorkerId;
  /** The workers that the group should have, by position. */
  readonly #members: GroupWorker[] = [];
  /** Workers that were told to stop and have not exited. */
  readonly #leaving = new Set<GroupWorker>();
  /** Models that were reported as servable and not as unservable since. */
  readonly #servable = new Set<ModelKey>();
  /** Models that joined and that not every worker has tried to load. */
  readonly #unsettled = new Set<ModelKey>();
  /** Models that left while they were loaded. */
  readonly #gone = new Set<ModelKey>();
  #actions: GroupAction[] = [];
  #hasLoaded: boolean = false;
  #hasSettled: boolean = false;
  #isStopped: boolean = false;
  #wakeAt = Number.POSITIVE_INFINITY;

  /** `nextWorker` gives an id that no worker of any group has had. */
  constructor(models: readonly ModelKey[], nextWorker: () => WorkerId, options: Partial<GroupConfig> = {}) {
    this.#models = new Set(models);
    this.#nextWorker = nextWorker;
    this.#config = resolveGroupConfig(options);
  }

  handle(event: GroupEvent, nowMs: number): void {
    switch (event.kind) {
      case 'resized':
        if (!this.#isStopped) this.#resize(event.workers, nowMs);
        break;
      case 'model-joined':
        this.#join(event.model, nowMs);
        break;
      case 'model-left':
        this.#leave(event.model);
        break;
      case 'worker-started':
        this.#started(event, nowMs);
        break;
      case 'loaded':
        this.#loaded(event, nowMs);
        break;
      case 'load-failed':
        this.#loadFailed(event, nowMs);
        break;
      case 'worker-exited':
        this.#exited(event, nowMs);
        break;
      case 'stopped':
        this.#stop(event.isKilled, nowMs);
        break;
      case 'tick':
        this.#wakeAt = Number.POSITIVE_INFINITY;
        this.#doWhatIsDue(nowMs);
        break;
    }
    this.#noteSettled();
    this.#noteGone();
    this.#askToWake();
  }

  /** The actions since the last call, in order. */
  takeActions(): readonly GroupAction[] {
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  /** The workers that the group should have, including those that wait for a restart. */
  get workers(): readonly Pick<GroupWorker, 'worker' | 'position'>[] {
    return this.#members;
  }

  /** Whether every worker has tried its loads once, or has exited. */
  get isSettled(): boolean {
    return this.#members.every(({ hasSettled }) => hasSettled);
  }

  /** Whether every worker has tried to load the model, or has exited. */
  hasTried(model: ModelKey): boolean {
    return this.#members.every((worker) => worker.hasTried(model));
  }

  #resize(workers: number, nowMs: number): void {
    while (this.#members.length < workers) {
      const worker = new GroupWorker(this.#nextWorker(), this.#members.length);
      this.#members.push(worker);
      this.#hasSettled = false;
      this.#start(worker);
    }
    while (this.#members.length > workers) {
      const worker = this.#members.pop() as GroupWorker;
      // The others may have waited for it; and the group holds less memory now.
      this.#hasSettled = false;
      for (const model of this.#models) this.#actions.push({ kind: 'unserve', worker: worker.worker, model });
      this.#end(worker, false, nowMs + this.#config.stopMsMax + this.#config.runMsMax);
    }
  }

  #join(model: ModelKey, nowMs: number): void {
    this.#models.add(model);
    this.#unsettled.add(model);
    for (const worker of this.#members) if (worker.phase === 'running') this.#addLoad(worker, model, nowMs);
  }

  #leave(model: ModelKey): void {
    this.#models.delete(model);
    this.#unsettled.delete(model);
    this.#gone.add(model);
    if (this.#servable.delete(model)) this.#actions.push({ kind: 'remove-model', model });
    for (const { worker, phase, loads } of this.#members) {
      const load = loads.get(model);
      if (load === undefined || phase !== 'running') continue;
      if (load.state === 'loading') load.state = 'leaving';
      else this.#unload(worker, loads, load);
    }
  }

  #unload(worker: WorkerId, loads: GroupWorker['loads'], { model, state }: ModelLoad): void {
    loads.delete(model);
    if (state !== 'failed') this.#actions.push({ kind: 'unload', worker, model });
  }

  /** Once it is loaded nowhere, nothing more can be said of a model that left. */
  #noteGone(): void {
    for (const model of this.#gone) {
      if (this.#members.some(({ phase, loads }) => phase === 'running' && loads.has(model))) continue;
      this.#gone.delete(model);
      this.#actions.push({ kind: 'model-gone', model });
    }
  }

  #start(worker: GroupWorker): void {
    worker.phase = 'starting';
    worker.restartAt = Number.POSITIVE_INFINITY;
    worker.loadedAt = undefined;
    worker.limitReason = undefined;
    worker.loads.clear();
    this.#actions.push({ kind: 'start-worker', worker: worker.worker, position: worker.position });
  }

  #started({ worker: id, inUse }: EventOf<'worker-started'>, nowMs: number): void {
    const worker = this.#takeMember(id);
    if (worker?.phase !== 'starting') return;
    worker.phase = 'running';
    for (const model of inUse) if (this.#models.has(model)) this.#addLoad(worker, model, nowMs);
    for (const model of this.#models) if (!worker.loads.has(model)) this.#addLoad(worker, model, nowMs);
    if (this.#models.size === 0) this.#noteLoadEnded(worker, nowMs);
  }

  #addLoad(worker: GroupWorker, model: ModelKey, nowMs: number): void {
    const load = new ModelLoad(model);
    worker.loads.set(model, load);
    this.#load(worker, load, nowMs);
  }

  #load(worker: GroupWorker, load: ModelLoad, nowMs: number): void {
    load.state = 'loading';
    load.retryAt = Number.POSITIVE_INFINITY;
    load.limitAt = nowMs + this.#config.loadMsMax;
    worker.loadLimitAt = Math.min(worker.loadLimitAt, load.limitAt);
    this.#actions.push({ kind: 'load', worker: worker.worker, model: load.model });
  }

  #loaded({ worker: id, model }: EventOf<'loaded'>, nowMs: number): void {
    const worker = this.#takeMember(id);
    const load = worker?.loads.get(model);
    if (worker?.phase === 'running' && load?.state === 'leaving') {
      this.#unload(id, worker.loads, load);
      this.#noteLoadEnded(worker, nowMs);
      return;
    }
    if (worker?.phase !== 'running' || load?.state !== 'loading') return;
    this.#hasLoaded = true;
    load.state = 'loaded';
    load.failures = 0;
    const isFirst = !this.#servable.has(model);
    if (isFirst) {
      this.#servable.add(model);
      this.#actions.push({ kind: 'add-model', model });
    }
    this.#actions.push({ kind: 'serve', worker: id, model });
    if (isFirst) {
      // Those that could not stand in for it have the model still.
      for (const other of this.#members)
        if (other !== worker && other.serves(model)) this.#actions.push({ kind: 'serve', worker: other.worker, model });
      this.#actions.push({ kind: 'model-servable', model });
      this.#retrySoon(model, nowMs);
    }
    this.#noteLoadEnded(worker, nowMs);
  }

  #loadFailed(event: EventOf<'load-failed'>, nowMs: number): void {
    const { worker: id, model, reason, isFinal, lesser, jitter } = event;
    const worker = this.#takeMember(id);
    const load = worker?.loads.get(model);
    if (worker?.phase === 'running' && load?.state === 'leaving') {
      worker.loads.delete(model);
      this.#noteLoadEnded(worker, nowMs);
      return;
    }
    if (worker?.phase !== 'running' || load?.state !== 'loading') return;
    load.state = 'failed';
    load.failures += 1;
    this.#unservable(model, worker, reason, isFinal, lesser);
    if (!isFinal) load.retryAt = nowMs + pauseAfter(load.failures, jitter, this.#config.reload);
    this.#noteLoadEnded(worker, nowMs);
  }

  /** One worker has loaded the model: what prevented the others may be temporary. */
  #retrySoon(model: ModelKey, nowMs: number): void {
    for (const { loads } of this.#members) {
      const load = loads.get(model);
      if (load?.state === 'failed') load.retryAt = Math.min(load.retryAt, nowMs + this.#config.reload.pauseMs);
    }
  }

  #noteLoadEnded(worker: GroupWorker, nowMs: number): void {
    // A worker that is always loading something is killed only for a load that is itself too long.
    if (worker.limitReason === undefined) worker.loadLimitAt = worker.earliestLoadLimitAt;
    if (worker.isLoading) return;
    worker.loadedAt ??= nowMs;
    worker.hasSettled = true;
    this.#actions.push({ kind: 'worker-ready', worker: worker.worker });
  }

  #exited({ worker: id, reason: exitReason, batchesAnswered, jitter }: EventOf<'worker-exited'>, nowMs: number): void {
    for (const leaving of this.#leaving) {
      if (leaving.worker !== id) continue;
      this.#leaving.delete(leaving);
      this.#actions.push({ kind: 'worker-gone', worker: id, reason: exitReason, restartInMs: undefined });
      return;
    }
    const worker = this.#takeMember(id);
    if (worker === undefined || worker.phase === 'waiting') return;
    const { limitReason, loadedAt } = worker;
    const reason = limitReason === undefined ? exitReason : `${limitReason}, and the worker was killed; ${exitReason}`;
    const life = { aliveMs: loadedAt === undefined ? 0 : nowMs - loadedAt, batchesAnswered };
    const { record, pauseMs, isCrashLoop } = restartAfter(worker.record, life, jitter, this.#config.restart);
    worker.record = record;
    worker.phase = 'waiting';
    worker.restartAt = nowMs + pauseMs;
    worker.loadLimitAt = Number.POSITIVE_INFINITY;
    worker.hasSettled = true;
    this.#actions.push({ kind: 'worker-gone', worker: id, reason, restartInMs: pauseMs });
    // Reported at once: with loads this long a crash loop would be detected too late.
    if (limitReason !== undefined) {
      for (const { model, state } of worker.loads.values()) {
        if (state === 'loading') this.#unservable(model, worker, reason, false);
      }
    }
    if (isCrashLoop || (this.#config.isRetry && !this.#hasLoaded)) {
      const { crashLoopDeaths } = this.#config.restart;
      const summary = `crash loop: its worker exited ${crashLoopDeaths} times in a row or more without an answer, last: ${reason}`;
      for (const model of this.#models) this.#unservable(model, worker, summary, false);
    }
  }

  /** The worker cannot run the model. Where another worker does, it stays in service, unless that is one of the `lesser`. */
  #unservable(
    model: ModelKey,
    { worker }: GroupWorker,
    reason: string,
    isFinal: boolean,
    lesser: readonly number[] = [],
  ): void {
    if (this.#members.some((other) => other.serves(model) && !lesser.includes(other.position))) {
      this.#actions.push({ kind: 'model-short-of-worker', model, worker, reason });
      return;
    }
    if (this.#servable.delete(model)) this.#actions.push({ kind: 'remove-model', model });
    this.#actions.push({ kind: 'model-unservable', model, reason, isFinal });
  }

  #stop(isKilled: boolean, nowMs: number): void {
    this.#isStopped = true;
    for (const model of this.#servable) this.#actions.push({ kind: 'remove-model', model });
    this.#servable.clear();
    const limitAt = nowMs + this.#config.stopMsMax;
    for (const worker of this.#leaving) {
      worker.stopLimitAt = Math.min(worker.stopLimitAt, limitAt);
      if (isKilled) this.#actions.push({ kind: 'kill', worker: worker.worker });
    }
    for (const worker of this.#members.splice(0)) this.#end(worker, isKilled, limitAt);
  }

  /** Ends a worker that is no longer a member; one that waits for its restart has nothing to end. */
  #end(worker: GroupWorker, isKilled: boolean, limitAt: number): void {
    const hasProcess = worker.phase !== 'waiting';
    worker.phase = 'stopping';
    worker.restartAt = Number.POSITIVE_INFINITY;
    worker.loadLimitAt = Number.POSITIVE_INFINITY;
    if (!hasProcess) return;
    worker.stopLimitAt = limitAt;
    this.#leaving.add(worker);
    this.#actions.push({ kind: 'worker-stopping', worker: worker.worker });
    this.#actions.push({ kind: isKilled ? 'kill' : 'stop-worker', worker: worker.worker });
  }

  #doWhatIsDue(nowMs: number): void {
    for (const worker of this.#leaving) {
      if (worker.stopLimitAt > nowMs) continue;
      worker.stopLimitAt = Number.POSITIVE_INFINITY;
      this.#actions.push({ kind: 'kill', worker: worker.worker });
    }
    for (const worker of this.#members) {
      if (worker.restartAt <= nowMs) this.#start(worker);
      if (worker.loadLimitAt <= nowMs) this.#killForLimit(worker);
      if (worker.phase !== 'running') continue;
      for (const load of worker.loads.values()) if (load.retryAt <= nowMs) this.#load(worker, load, nowMs);
    }
  }

  #killForLimit(worker: GroupWorker): void {
    const names = [...worker.loads.values()].flatMap(({ state, model }) => (state === 'loading' ? [model] : []));
    const seconds = this.#config.loadMsMax / 1000;
    worker.loadLimitAt = Number.POSITIVE_INFINITY;
    for (const load of worker.loads.values()) load.retryAt = Number.POSITIVE_INFINITY;
    worker.limitReason = `loading ${names.join(', ')} took longer than ${seconds} s (worker.loadSecondsMax)`;
    this.#actions.push({ kind: 'kill', worker: worker.worker });
  }

  #noteSettled(): void {
    for (const model of this.#unsettled) {
      if (this.#isStopped || !this.hasTried(model)) continue;
      this.#unsettled.delete(model);
      this.#actions.push({ kind: 'model-settled', model });
    }
    if (this.#hasSettled || this.#isStopped || this.#members.length === 0 || !this.isSettled) return;
    this.#hasSettled = true;
    this.#actions.push({ kind: 'settled' });
  }

  #takeMember(id: WorkerId): GroupWorker | undefined {
    return this.#members.find(({ worker }) => worker === id);
  }

  #askToWake(): void {
    let at = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#members) at = Math.min(at, dueAt);
    for (const { dueAt } of this.#leaving) at = Math.min(at, dueAt);
    if (at === this.#wakeAt) return;
    this.#wakeAt = at;
    this.#actions.push({ kind: 'wake-at', at });
  }
}
