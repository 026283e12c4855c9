/** Reports changes of models and workers to the log, the metrics and the start screen. */
import type { WorkerId } from '@millrace/core';
import { type ConfigProblem, formatConfigProblem } from '@millrace/protocol';
import type {
  DataPlaneObserver,
  LibraryListener,
  LifeCycleMetrics,
  LoadFailure,
  ModelFailure,
  ServedModel,
  WorkerLine,
  WorkerState,
} from '@millrace/router/internal';
import type { Logger } from './logging/logger.ts';
import { RepeatedReasons } from './logging/repeated-reasons.ts';

export class FleetWatch implements LibraryListener {
  readonly #logger: Logger;
  readonly #observer: DataPlaneObserver;
  readonly #metrics: LifeCycleMetrics | undefined;
  readonly #loadMs = new WeakMap<ServedModel, number>();
  /** Sharing decisions that have been logged. */
  readonly #logged = new WeakSet<object>();
  /** Contexts whose loads fail, groups whose workers exit, and models that some workers cannot serve. */
  readonly #failedLoads = new RepeatedReasons();
  readonly #exits = new RepeatedReasons();
  readonly #shortages = new RepeatedReasons();
  readonly #workers = new Map<WorkerId, WorkerState>();
  #standbys = 0;
  /** The processes of the workers, by worker, and their groups, by process. */
  readonly #processes = new Map<WorkerId, number>();
  readonly #groups = new Map<number, string>();
  readonly #listeners = new Set<() => void>();

  constructor(logger: Logger, observer: DataPlaneObserver, metrics?: LifeCycleMetrics) {
    this.#logger = logger;
    this.#observer = observer;
    this.#metrics = metrics;
  }

  /** How long the last load took; undefined before the first. */
  loadMsOf(model: ServedModel): number | undefined {
    return this.#loadMs.get(model);
  }

  onModelChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  modelReady(model: ServedModel): void {
    this.#noteSharing(model);
    this.#observerOf(model).readinessChanged(true);
    // Its counters are there before its first text.
    if (model.view.isGenerator === true) this.#observerOf(model).generator();
    this.#metrics?.modelReady(model);
    this.#tell();
  }

  modelLoaded(model: ServedModel, loadMs: number): void {
    this.#loadMs.set(model, loadMs);
    this.#shortages.forget(model.key);
    this.#observerOf(model).modelLoaded(loadMs);
  }

  modelFailed(model: ServedModel): void {
    this.#observerOf(model).readinessChanged(false);
    this.#tell();
  }

  modelEvicted(model: ServedModel): void {
    const { name, version } = model.view;
    this.#logger.info({ model: name, version }, 'model evicted; it is loaded again on demand');
    this.#observerOf(model).readinessChanged(false);
    this.#metrics?.modelEvicted(model);
    this.#tell();
  }

  modelRetired(model: ServedModel, why: 'replaced' | 'unwanted'): void {
    const { name, version } = model.view;
    this.#logger.info({ model: name, version, revision: model.key, why }, 'draining model before unload');
    this.#tell();
  }

  modelForgotten(name: string, version: string): void {
    this.#failedLoads.forget(`${name}:${version}`);
    this.#observer.modelForgotten(name, version);
    this.#metrics?.modelForgotten(name, version);
    this.#tell();
  }

  sharingStopped(model: ServedModel, reason: string): void {
    const { name, version } = model.view;
    this.#logger.warn(
      { model: name, version, reason },
      'outputs of a shared run could not be divided; requests now run alone',
    );
    this.#metrics?.sharingKnown(name, version, model.view.sharing?.verdict.kind ?? 'unknown', false);
  }

  /** Logs once for each definition, however often the model is evicted and loaded again. */
  #noteSharing({ view, sharesRuns }: ServedModel): void {
    const { name, version, sharing } = view;
    if (sharing === undefined) return;
    this.#metrics?.sharingKnown(name, version, sharing.verdict.kind, sharesRuns);
    if (this.#logged.has(sharing)) return;
    this.#logged.add(sharing);
    const { verdict, reason } = sharing;
    const node = verdict.kind === 'independent' ? {} : { node: verdict.node };
    this.#logger.info(
      { model: name, version, verdict: verdict.kind, ...node, sharesRuns, reason },
      sharesRuns ? 'requests of this model share runs' : 'each request of this model runs alone',
    );
  }

  loadStarted(context: string): void {
    this.#logger.debug({ context }, 'load started');
    this.#metrics?.loadStarted();
  }

  /** Of a model that does not serve, the first failure is logged with the model's state; this logs later ones. */
  loadFailed({ context, reason, isOldServing, retryInMs }: LoadFailure): void {
    this.#metrics?.loadFailed();
    const times = this.#failedLoads.takeTimes(context, reason);
    const fields = { context, reason, times, retryInMs: retryInMs === undefined ? undefined : Math.round(retryInMs) };
    if (times !== undefined && isOldServing) {
      this.#logger.error(fields, 'load failed; the previous revision keeps serving');
    } else if (times !== undefined && times > 1) this.#logger.error(fields, 'load failed again');
    else this.#logger.debug(fields, 'load failed');
  }

  demandLoaded(context: string, waitMs: number): void {
    this.#logger.debug({ context, waitMs }, 'loaded on demand');
    this.#metrics?.demandLoaded(context, waitMs);
  }

  memoryMeasured(models: readonly { readonly model: ServedModel; readonly bytes: number }[], totalBytes: number): void {
    this.#metrics?.memoryMeasured(models, totalBytes);
  }

  modelRead(servedOn: readonly ModelFailure[]): void {
    for (const { name, version, problems } of servedOn) {
      const reason = problems.map(formatConfigProblem).join('; ');
      this.#logger.error(
        { model: name, version, reason },
        'changed version cannot be read; the previous revision keeps serving',
      );
    }
    this.#tell();
  }

  repositoryWarned({ source, line, field, message }: ConfigProblem): void {
    this.#logger.warn({ source, line, field }, message);
  }

  modelShortOfWorker(model: ServedModel, worker: WorkerId, reason: string): void {
    const { name, version } = model.view;
    const times = this.#shortages.takeTimes(model.key, reason);
    const fields = { model: name, version, worker, reason, times };
    this.#logger[levelOf(times)](fields, 'worker cannot serve the model; other workers do');
  }

  modelMoved(model: ServedModel, reason: string): void {
    const { name, version } = model.view;
    this.#logger.info({ model: name, version, reason }, 'model moved to a worker of its own');
  }

  modelSeparated(model: ServedModel): void {
    const { name, version } = model.view;
    this.#logger.debug({ model: name, version }, 'model moved to a worker without models that were never run');
  }

  workerStarted(group: string, worker: WorkerId, pid: number | undefined): void {
    this.#logger.debug({ group, worker, pid }, 'worker started');
    if (pid !== undefined) {
      this.#processes.set(worker, pid);
      this.#groups.set(pid, group);
    }
    this.#setState(worker, 'starting');
  }

  workerReady(group: string, worker: WorkerId, pid: number | undefined): void {
    this.#exits.forget(group);
    this.#logger.debug({ group, worker, pid }, 'worker ready');
    this.#setState(worker, 'ready');
  }

  /** What user code, or an engine, printed. Many lines in a short time are left out and counted. */
  workerPrinted(pid: number, { stream, text, droppedLines }: WorkerLine): void {
    const level = stream === 'stdout' ? 'info' : 'warn';
    const group = this.#groups.get(pid);
    this.#logger[level]({ group, pid, stream, text, ...(droppedLines === 0 ? {} : { droppedLines }) }, 'worker output');
  }

  workerStopping(worker: WorkerId): void {
    this.#setState(worker, 'stopping');
  }

  workerGone(group: string, worker: WorkerId, reason: string, restartInMs: number | undefined): void {
    this.#setState(worker, undefined);
    this.#groups.delete(this.#processes.get(worker) ?? -1);
    this.#processes.delete(worker);
    if (restartInMs === undefined) {
      this.#logger.debug({ group, worker, reason }, 'worker stopped');
      return;
    }
    this.#observer.workerRestarted();
    const times = this.#exits.takeTimes(group, reason);
    this.#logger[levelOf(times)]({ group, worker, reason, restartInMs, times }, 'worker exited; restarting');
  }

  standbysChanged(processes: number): void {
    this.#standbys = processes;
    this.#tellCounts();
  }

  #setState(worker: WorkerId, state: WorkerState | undefined): void {
    if (state === undefined) this.#workers.delete(worker);
    else this.#workers.set(worker, state);
    this.#tellCounts();
  }

  #tellCounts(): void {
    const counts = { starting: 0, ready: 0, stopping: 0, standby: this.#standbys };
    for (const one of this.#workers.values()) counts[one] += 1;
    this.#observer.workersChanged(counts);
  }

  #observerOf(model: ServedModel) {
    return this.#observer.observerFor(model.view.name, model.view.version);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Repeated events with the same reason are logged at debug, but for the second, the fourth, the eighth and so on. */
function levelOf(times: number | undefined): 'warn' | 'debug' {
  return times === undefined ? 'debug' : 'warn';
}
