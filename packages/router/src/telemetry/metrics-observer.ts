/** The observer of the data plane that keeps Prometheus metrics. */
import type { ErrorCode } from '@millrace/protocol';
import type { DataPlaneObserver, ModelObserver, WorkerState } from '../data-plane/observer.ts';
import type { ShadowOutcome } from '../data-plane/traffic/shadow-outcome.ts';
import type { ModelStatistics } from '../management/statistics.ts';
import { allFailureCodes, FailureCounters } from './failure-counters.ts';
import { forgetGenerator, registerGeneratorFamilies } from './generator-series.ts';
import { modelMetrics, registerAll, serverMetrics, tritonMetrics } from './metric-table.ts';
import { ModelSeries } from './model-series.ts';
import type { MetricsRegistry } from './registry.ts';
import type { Counter } from './series.ts';
import type { StatisticsCollector } from './statistics.ts';

export interface BuildInfo {
  readonly version: string;
  readonly node: string;
}

export class MetricsObserver implements DataPlaneObserver, StatisticsCollector {
  readonly #models;
  readonly #triton;
  readonly #generators;
  readonly #server;
  /** Failures of requests that named no known model. */
  readonly #unknownFailures: FailureCounters;
  readonly #unknownRequests: Counter;
  readonly #byVersion = new Map<string, ModelSeries>();
  readonly #epochNow: () => number;

  constructor(registry: MetricsRegistry, build: BuildInfo, epochNow: () => number = Date.now) {
    this.#epochNow = epochNow;
    this.#server = registerAll(registry, serverMetrics);
    this.#models = registerAll(registry, modelMetrics);
    this.#generators = registerGeneratorFamilies(registry);
    this.#triton = registerAll(registry, tritonMetrics);
    this.#unknownRequests = this.#models.requests.bind('', '');
    this.#unknownFailures = new FailureCounters(this.#models.failures, this.#triton.failure, '', '', allFailureCodes);
    this.#server.buildInfo.bind(build.version, build.node).set(1);
    this.#server.workerRestarts.bind();
    this.cacheChanged(0, 0, 0);
    this.workersChanged({ starting: 0, ready: 0, stopping: 0, standby: 0 });
    const dropped = this.#server.seriesDropped.bind();
    registry.onCollect(() => {
      for (const series of this.#byVersion.values()) series.collect();
      let droppedCount = 0;
      for (const family of registry.families()) droppedCount += family.seriesDropped;
      dropped.value = droppedCount;
    });
  }

  observerFor(model: string, version: string): ModelObserver {
    return this.#seriesOf(model, version);
  }

  /** The totals of a version; undefined: it is not observed. */
  statisticsOf(model: string, version: string): ModelStatistics | undefined {
    return this.#byVersion.get(keyOf(model, version))?.statistics();
  }

  modelForgotten(model: string, version: string): void {
    this.#byVersion.delete(keyOf(model, version));
    for (const family of Object.values(this.#models)) family.removeAll(model, version);
    for (const family of Object.values(this.#triton)) family.removeAll(model, version);
    forgetGenerator(this.#generators, model, version);
  }

  requestRefused(code: ErrorCode): void {
    this.#unknownRequests.add(1);
    this.#unknownFailures.add(code);
  }

  workersChanged(counts: Readonly<Record<WorkerState, number>>): void {
    this.#server.workers.bind('starting').set(counts.starting);
    this.#server.workers.bind('ready').set(counts.ready);
    this.#server.workers.bind('stopping').set(counts.stopping);
    this.#server.workers.bind('standby').set(counts.standby);
  }

  workerRestarted(): void {
    this.#server.workerRestarts.bind().add(1);
  }

  shadowEnded(model: string, version: string, outcome: ShadowOutcome): void {
    this.#models.shadowRequests.bind(model, version, outcome).add(1);
  }

  cacheChanged(bytes: number, entries: number, evictions: number): void {
    this.#server.cacheBytes.bind().set(bytes);
    this.#server.cacheEntries.bind().set(entries);
    this.#server.cacheEvictions.bind().value = evictions;
  }

  #seriesOf(model: string, version: string): ModelSeries {
    const key = keyOf(model, version);
    let series = this.#byVersion.get(key);
    if (series === undefined) {
      series = new ModelSeries(this.#models, this.#triton, this.#generators, model, version, this.#epochNow);
      this.#byVersion.set(key, series);
    }
    return series;
  }
}

function keyOf(model: string, version: string): string {
  return JSON.stringify([model, version]);
}
