/** Keeps the metrics of durable streams. */
import type { EndingOutcome } from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';
import type { JournalUsage } from '@millrace/store';
import type { ResumeCause, StreamObserver } from '../streams/stream-observer.ts';
import type { StreamCounts } from '../streams/stream-table.ts';
import { type Families, registerAll, streamMetrics } from './metric-table.ts';
import type { MetricsRegistry } from './registry.ts';

export class StreamMetrics implements StreamObserver {
  readonly #registry: MetricsRegistry;
  readonly #families: Families<typeof streamMetrics>;

  constructor(registry: MetricsRegistry) {
    this.#registry = registry;
    this.#families = registerAll(registry, streamMetrics);
    const { ended, ...others } = this.#families;
    for (const family of Object.values(others)) family.bindAll();
    ended.bind('done', '');
  }

  /** What is read at each scrape. */
  show(host: { readonly counts: StreamCounts }, journal: { usage(): JournalUsage }): void {
    const { streams, journalLogs, journalBytes, journalBytesMax } = this.#families;
    this.#registry.onCollect(() => {
      const { counts } = host;
      for (const state of streamMetrics.streams.values) streams.bind(state).set(counts[state]);
      const { logs, bytes, bytesMax } = journal.usage();
      journalLogs.bind().set(logs);
      journalBytes.bind().set(bytes);
      journalBytesMax.bind().set(bytesMax);
    });
  }

  streamOpened(): void {
    this.#families.opened.bind().add(1);
  }

  streamRefused(code: ErrorCode): void {
    this.#families.refused.bind(code).add(1);
  }

  streamResumed(cause: ResumeCause): void {
    this.#families.resumed.bind(cause).add(1);
  }

  streamRejoined(gapMs: number): void {
    this.#families.resumeGapSeconds.bind().observe(gapMs / 1000);
  }

  streamEnded(outcome: EndingOutcome, code: ErrorCode | undefined, isAbandoned: boolean): void {
    this.#families.ended.bind(outcome, code ?? '').add(1);
    if (outcome === 'expired') this.#families.expired.bind(isAbandoned ? 'resume-window' : 'life-time').add(1);
  }

  streamPaused(): void {
    this.#families.journalPauses.bind().add(1);
  }

  inputsLate(count: number): void {
    this.#families.lateInputs.bind().add(count);
  }

  stepRepeated(journaledOutputs: number): void {
    this.#families.repeatedSteps.bind().add(1);
    this.#families.replayedOutputs.bind().add(journaledOutputs);
  }

  stepPostponed(): void {
    this.#families.postponedSteps.bind().add(1);
  }

  workerLost(): void {
    this.#families.workersLost.bind().add(1);
  }
}
