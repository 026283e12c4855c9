import type { ModelKey } from '@millrace/core';
import type { InferRequest } from './infer.ts';
import type { ServedModel } from './served-model.ts';

/** Models that take nothing new, until they are idle or are served again. */
export class RetiringModels {
  /** By model: the number of its retirement, which tells it from one that was cancelled and still waits. */
  readonly #retiring = new Map<ModelKey, number>();
  #retirementCount = 0;
  /** Those whose runners still hold state between requests. */
  readonly #closing = new Set<ServedModel>();
  /** Called when the model is idle. */
  readonly #onIdle = new Map<ModelKey, () => void>();

  /** Those that still take requests that continue with state they hold. */
  get closing(): Iterable<ServedModel> {
    return this.#closing;
  }

  /** False when the retirement was cancelled, whether or not another one has begun. */
  isGoingOn(model: ServedModel, retirement: number): boolean {
    return this.#retiring.get(model.key) === retirement;
  }

  /** Returns the number of the retirement. */
  add(model: ServedModel): number {
    this.#retirementCount += 1;
    this.#retiring.set(model.key, this.#retirementCount);
    return this.#retirementCount;
  }

  /** Resolves when its runner holds no state any more, and where `isPinned` no stream is pinned to it. */
  async close(model: ServedModel, retirement: number, isPinned: boolean): Promise<void> {
    this.#closing.add(model);
    await Promise.all([model.runner?.close?.(), isPinned ? model.streams.retire() : undefined]);
    if (this.isGoingOn(model, retirement)) this.#closing.delete(model);
  }

  /** The model is served again: its idle callback is dropped. */
  takeBack(model: ServedModel): void {
    this.#onIdle.delete(model.key);
    this.#retiring.delete(model.key);
    this.#closing.delete(model);
    model.runner?.reopen?.();
    model.streams.reopen();
  }

  whenIdle(model: ServedModel, listener: () => void): void {
    this.#onIdle.set(model.key, listener);
  }

  /** None of its requests waits or runs any more. */
  idle(key: ModelKey): void {
    this.#onIdle.get(key)?.();
    this.#onIdle.delete(key);
    this.#retiring.delete(key);
  }

  /** A retiring version that still holds the state that the request continues with. */
  takeHolder(request: InferRequest): ServedModel | undefined {
    if (this.#closing.size === 0) return undefined;
    const { pinnedTo } = request.target;
    for (const model of this.#closing) {
      if (pinnedTo !== undefined) {
        if (pinnedTo === model) return model;
        continue;
      }
      const { name, version } = model.view;
      const { target } = request;
      const isNamed = name === target.model && (target.version === '' || target.version === version);
      if (!isNamed) continue;
      if (model.runner?.holds?.(request) === true) return model;
      model.runner?.beginsElsewhere?.(request);
    }
    return undefined;
  }
}
