/** The result cache of a server, for all models together. */
import { StoredResults, type StoredResultsLimits } from '@millrace/core';
import type { Clock } from '../clock.ts';
import type { InferAnswer } from '../infer.ts';
import type { DataPlaneObserver } from '../observer.ts';
import type { ServedModel } from '../served-model.ts';
import { bytesOfTensors, copiesOf, finish } from '../sliced-work/copy-slices.ts';

export interface ResultCacheParts {
  readonly limits: StoredResultsLimits;
  readonly clock: Clock;
  readonly observer: Pick<DataPlaneObserver, 'cacheChanged'>;
}

export class ResultCache {
  readonly #stored: StoredResults<InferAnswer, ServedModel>;
  readonly #parts: ResultCacheParts;
  #revisions = 0;

  constructor(parts: ResultCacheParts) {
    this.#parts = parts;
    this.#stored = new StoredResults(parts.limits);
    this.#tell();
  }

  /** A number that is unique among all loads of all models, so that results of one load are never returned for another. */
  newRevision(): number {
    this.#revisions += 1;
    return this.#revisions;
  }

  take(key: string): InferAnswer | undefined {
    const { evictions } = this.#stored;
    const answer = this.#stored.take(key, this.#parts.clock.now());
    if (this.#stored.evictions !== evictions) this.#tell();
    return answer;
  }

  keeps(bytes: number): boolean {
    return this.#stored.keeps(bytes);
  }

  /** Caches a copy of the answer, which counts against the owner's share, and returns it; undefined when it is too large. */
  keep(key: string, owner: string, model: ServedModel, answer: InferAnswer): InferAnswer | undefined {
    const bytes = bytesOfTensors(answer.outputs);
    if (!this.#stored.keeps(bytes)) return undefined;
    const { tensors, slices } = copiesOf(answer.outputs);
    finish(slices);
    return this.put(key, owner, model, { ...answer, outputs: tensors });
  }

  /** Caches an answer whose outputs have their own memory, and that `keeps` has allowed. */
  put(key: string, owner: string, model: ServedModel, answer: InferAnswer): InferAnswer {
    const kept: InferAnswer = { ...answer, id: '', release: keepMemory };
    this.#stored.put(key, owner, model, kept, bytesOfTensors(kept.outputs), this.#parts.clock.now());
    this.#tell();
    return kept;
  }

  /** Removes the results of a model, or of all; returns how many. */
  flush(model?: string): number {
    return this.#forget((of) => model === undefined || of.view.name === model);
  }

  /** Removes the results of a model that is no longer served, or was replaced by another load. */
  forget(model: ServedModel): number {
    return this.#forget((of) => of === model);
  }

  #forget(isMeant: (model: ServedModel) => boolean): number {
    const forgotten = this.#stored.flush(isMeant);
    if (forgotten > 0) this.#tell();
    return forgotten;
  }

  #tell(): void {
    const { bytes, entries, evictions } = this.#stored;
    this.#parts.observer.cacheChanged(bytes, entries, evictions);
  }
}

/** Cached memory is garbage collected: an evicted entry lives as long as an answer that refers to it. */
function keepMemory(): void {}
