/** The results that this server keeps, of all models together. */
import { StoredResults, type StoredResultsLimits } from '@millrace/core';
import type { Tensor } from '@millrace/protocol';
import type { DataPlaneObserver } from '../../telemetry/observer.ts';
import type { Clock } from '../clock.ts';
import type { InferAnswer } from '../infer.ts';
import type { ServedModel } from '../served-model.ts';

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

  /** A number that no other load of any model has: results of one are never given out for another. */
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

  /** Keeps a copy of the answer, which counts against the owner's share, and gives it back; undefined when it is too large to keep. */
  keep(key: string, owner: string, model: ServedModel, answer: InferAnswer): InferAnswer | undefined {
    const bytes = bytesOf(answer.outputs);
    if (!this.#stored.keeps(bytes)) return undefined;
    const copy: InferAnswer = { ...answer, id: '', outputs: copied(answer.outputs, bytes), release: keepMemory };
    this.#stored.put(key, owner, model, copy, bytes, this.#parts.clock.now());
    this.#tell();
    return copy;
  }

  /** Forgets the results of a model, or of all; how many. */
  flush(model?: string): number {
    return this.#forget((of) => model === undefined || of.view.name === model);
  }

  /** The model is served no more, or another load took its place. */
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

export function bytesOf(tensors: readonly Tensor[]): number {
  let bytes = 0;
  for (const { data } of tensors) bytes += data.byteLength;
  return bytes;
}

/** Tensors in memory of their own, side by side. */
export function copied(tensors: readonly Tensor[], bytes: number): readonly Tensor[] {
  const memory = new Uint8Array(bytes);
  let offset = 0;
  return tensors.map((tensor) => {
    const data = memory.subarray(offset, offset + tensor.data.byteLength);
    data.set(tensor.data);
    offset += tensor.data.byteLength;
    return { ...tensor, data };
  });
}

/** What is kept belongs to the garbage collector: an entry that is driven out lives as long as an answer that shows it. */
function keepMemory(): void {}
