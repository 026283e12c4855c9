/** The bound series of one model version, written by the events of the data plane. */
import type { EndReason } from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';
import type { BatchTiming, GeneratorObserver, ModelObserver, RequestTiming } from '../data-plane/observer.ts';
import type { Duration, ModelStatistics } from '../management/statistics.ts';
import { CacheSeries } from './cache-series.ts';
import { FailureCounters } from './failure-counters.ts';
import { type GeneratorFamilies, GeneratorSeries } from './generator-series.ts';
import type { Families, modelMetrics, tritonMetrics } from './metric-table.ts';
import { ModelTally } from './model-tally.ts';
import { SequenceSeries } from './sequence-series.ts';
import type { Counter, Gauge, Histogram } from './series.ts';

export type ModelFamilies = Families<typeof modelMetrics>;
export type TritonFamilies = Families<typeof tritonMetrics>;

type AbandonReason = (typeof modelMetrics.abandonedRequests.values)[number];

/** Why a waiting request is no longer run; other failures are not the caller's choice. */
const abandonReasons: Readonly<Partial<Record<ErrorCode, AbandonReason>>> = {
  'deadline-exceeded': 'expired',
  'queue-timeout': 'expired',
  cancelled: 'cancelled',
};

export class ModelSeries implements ModelObserver {
  readonly #families: ModelFamilies;
  readonly #triton: TritonFamilies;
  readonly #generators: GeneratorFamilies;
  readonly #labels: readonly [model: string, version: string];
  readonly #failures: FailureCounters;
  readonly #requests: Counter;
  readonly #requestSeconds: Histogram;
  readonly #queueSeconds: Histogram;
  readonly #computeSeconds: Histogram;
  readonly #batchRows: Histogram;
  readonly #abandoned: Readonly<Record<AbandonReason, Counter>>;
  readonly #skippedBatches: Counter;
  readonly #savedRows: Counter;
  readonly #queueRequests: Gauge;
  readonly #outstanding: Gauge;
  readonly #inputBytes: Counter;
  readonly #outputBytes: Counter;
  readonly #ready: Gauge;
  readonly #loadSeconds: Gauge;
  readonly #tally: ModelTally;
  #cache: CacheSeries | undefined;
  #sequences: SequenceSeries | undefined;
  #generator: GeneratorSeries | undefined;

  constructor(
    families: ModelFamilies,
    triton: TritonFamilies,
    generators: GeneratorFamilies,
    model: string,
    version: string,
    epochNow: () => number = Date.now,
  ) {
    this.#tally = new ModelTally(epochNow);
    this.#families = families;
    this.#triton = triton;
    this.#generators = generators;
    this.#labels = [model, version];
    this.#failures = new FailureCounters(families.failures, triton.failure, model, version);
    this.#requests = families.requests.bind(model, version);
    this.#requestSeconds = families.requestSeconds.bind(model, version);
    this.#queueSeconds = families.queueSeconds.bind(model, version);
    this.#computeSeconds = families.computeSeconds.bind(model, version);
    this.#batchRows = families.batchRows.bind(model, version);
    this.#abandoned = {
      expired: families.abandonedRequests.bind(model, version, 'expired'),
      cancelled: families.abandonedRequests.bind(model, version, 'cancelled'),
    };
    this.#skippedBatches = families.skippedBatches.bind(model, version);
    this.#savedRows = families.savedRows.bind(model, version);
    this.#queueRequests = families.queueRequests.bind(model, version);
    this.#outstanding = families.outstandingRequests.bind(model, version);
    this.#inputBytes = families.inputBytes.bind(model, version);
    this.#outputBytes = families.outputBytes.bind(model, version);
    this.#ready = families.modelReady.bind(model, version);
    this.#loadSeconds = families.modelLoadSeconds.bind(model, version);
    families.shadowRequests.bindAll(model, version);
  }

  requestAdmitted(inputBytes: number): void {
    this.#inputBytes.add(inputBytes);
    this.#queueRequests.add(1);
    this.#outstanding.add(1);
  }

  requestsDispatched(requests: number): void {
    this.#queueRequests.add(-requests);
  }

  requestsRequeued(requests: number): void {
    this.#queueRequests.add(requests);
  }

  requestAnswered(timing: RequestTiming, outputBytes: number): void {
    this.#tally.requestAnswered(timing);
    this.#requests.add(1);
    this.#outstanding.add(-1);
    this.#outputBytes.add(outputBytes);
    this.#requestSeconds.observe(timing.totalMs / 1000);
    this.#queueSeconds.observe(timing.queueMs / 1000);
    this.#computeSeconds.observe(timing.computeInferMs / 1000);
  }

  requestMoved(wasWaiting: boolean): void {
    this.#outstanding.add(-1);
    if (wasWaiting) this.#queueRequests.add(-1);
  }

  requestFailed(code: ErrorCode, totalMs: number, wasWaiting: boolean, rows: number): void {
    this.#outstanding.add(-1);
    if (wasWaiting) {
      this.#queueRequests.add(-1);
      const reason = abandonReasons[code];
      if (reason !== undefined) {
        this.#abandoned[reason].add(1);
        this.#savedRows.add(rows);
      }
    }
    this.#fail(code, totalMs);
  }

  requestRefused(code: ErrorCode): void {
    this.#fail(code, 0);
  }

  cacheAttached(): void {
    this.#cacheSeries();
  }

  requestCached(totalMs: number, outputBytes: number): void {
    this.#cacheSeries().hits.add(1);
    this.#answeredWithoutRun(totalMs, outputBytes);
  }

  requestFollows(): void {
    this.#cacheSeries().coalesced.add(1);
  }

  requestCoalesced(totalMs: number, outputBytes: number): void {
    this.#answeredWithoutRun(totalMs, outputBytes);
  }

  cacheMissed(lookupMs: number): void {
    this.#cacheSeries().misses.add(1);
    this.#tally.cacheMissed(lookupMs);
  }

  batchRan(rows: number, timing: BatchTiming): void {
    this.#tally.batchRan(rows, timing);
    this.#batchRows.observe(rows);
  }

  batchSkipped(rows: number): void {
    this.#skippedBatches.add(1);
    this.#savedRows.add(rows);
  }

  sequencesAttached(): void {
    this.#sequences ??= new SequenceSeries(this.#families, ...this.#labels);
  }

  sequencesChanged(live: number, backlog: number, stateBytes: number): void {
    this.#sequences?.changed(live, backlog, stateBytes);
  }

  sequenceEnded(reason: EndReason): void {
    this.#sequences?.ended(reason);
  }

  generator(): GeneratorObserver {
    this.#generator ??= new GeneratorSeries(
      this.#generators,
      { requestSeconds: this.#requestSeconds, queueSeconds: this.#queueSeconds, outstanding: this.#outstanding },
      ...this.#labels,
    );
    return this.#generator;
  }

  modelLoaded(loadMs: number): void {
    this.#loadSeconds.set(loadMs / 1000);
  }

  readinessChanged(isReady: boolean): void {
    this.#ready.set(isReady ? 1 : 0);
  }

  statistics(): ModelStatistics {
    return this.#tally.statistics();
  }

  /** Before a scrape. */
  collect(): void {
    this.#generator?.collect();
    this.#mirrorToTriton();
  }

  /** Triton's counters repeat the totals of the series above, so they are written only at a scrape. */
  #mirrorToTriton(): void {
    const triton = this.#triton;
    const [model, version] = this.#labels;
    const totals = this.statistics();
    triton.success.bind(model, version).value = totals.answered.count;
    triton.count.bind(model, version).value = totals.rowsRun;
    triton.executions.bind(model, version).value = totals.batchesRun;
    triton.requestMicros.bind(model, version).value = microsFrom(totals.answered);
    triton.queueMicros.bind(model, version).value = microsFrom(totals.queue);
    triton.computeInputMicros.bind(model, version).value = microsFrom(totals.computeInput);
    triton.computeInferMicros.bind(model, version).value = microsFrom(totals.computeInfer);
    triton.computeOutputMicros.bind(model, version).value = microsFrom(totals.computeOutput);
    triton.pending.bind(model, version).set(this.#queueRequests.value);
    if (this.#cache === undefined) return;
    triton.cacheHits.bind(model, version).value = totals.cacheHit.count;
    triton.cacheMisses.bind(model, version).value = totals.cacheMiss.count;
    triton.cacheHitMicros.bind(model, version).value = microsFrom(totals.cacheHit);
    triton.cacheMissMicros.bind(model, version).value = microsFrom(totals.cacheMiss);
  }

  #answeredWithoutRun(totalMs: number, outputBytes: number): void {
    this.#tally.answeredWithoutRun(totalMs);
    this.#requests.add(1);
    this.#outputBytes.add(outputBytes);
    this.#requestSeconds.observe(totalMs / 1000);
  }

  #cacheSeries(): CacheSeries {
    this.#cache ??= new CacheSeries(this.#families, ...this.#labels);
    return this.#cache;
  }

  #fail(code: ErrorCode, totalMs: number): void {
    this.#tally.requestFailed(totalMs);
    this.#requests.add(1);
    this.#failures.add(code);
  }
}

function microsFrom({ ns }: Duration): number {
  return Number(ns / 1000n);
}
