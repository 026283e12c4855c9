/** The series of a model's sequences; models without sequences have none. */
import type { EndReason } from '@millrace/core';
import { modelMetrics } from './metric-table.ts';
import type { ModelFamilies } from './model-series.ts';
import type { Counter, Gauge } from './series.ts';

export class SequenceSeries {
  readonly #live: Gauge;
  readonly #waiting: Gauge;
  readonly #stateBytes: Gauge;
  readonly #ended: ReadonlyMap<EndReason, Counter>;

  constructor(families: ModelFamilies, model: string, version: string) {
    this.#live = families.sequencesLive.bind(model, version);
    this.#waiting = families.sequencesWaiting.bind(model, version);
    this.#stateBytes = families.sequenceStateBytes.bind(model, version);
    this.#ended = new Map(
      modelMetrics.sequencesEnded.values.map((reason) => [
        reason,
        families.sequencesEnded.bind(model, version, reason),
      ]),
    );
  }

  changed(live: number, waiting: number, stateBytes: number): void {
    this.#live.set(live);
    this.#waiting.set(waiting);
    this.#stateBytes.set(stateBytes);
  }

  ended(reason: EndReason): void {
    this.#ended.get(reason)?.add(1);
  }
}
