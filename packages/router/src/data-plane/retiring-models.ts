import type { ModelKey } from '@millrace/core';
import type { InferRequest } from './infer.ts';
import type { ServedModel } from './served-model.ts';

/** Models that take nothing new, until they are idle or are served again. */
export class RetiringModels {
  readonly #retiring = new Set<ModelKey>();
  /** Those whose runners still hold state between requests. */
  readonly #closing = new Set<ServedModel>();
  /** Called when the model is idle. */
  readonly #onIdle = new Map<ModelKey, () => void>();

  /** Those that still take requests that continue with state they hold. */
  get closing(): Iterable<ServedModel> {
    return this.#closing;
  }

  has(model: ServedModel): boolean {
    return this.#retiring.has(model.key);
  }

  add(model: ServedModel): void {
    this.#retiring.add(model.key);
  }

  /** Resolves when its runner holds no state any more. */
  async close(model: ServedModel): Promise<void> {
    this.#closing.add(model);
    await model.runner?.close?.();
    this.#closing.delete(model);
  }

  /** The model is served again: its idle callback is dropped. */
  takeBack(model: ServedModel): void {
    this.#onIdle.delete(model.key);
    this.#retiring.delete(model.key);
    this.#closing.delete(model);
    model.runner?.reopen?.();
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
    for (const model of this.#closing) {
      const { name, version } = model.view;
      const { target } = request;
      const isNamed = name === target.model && (target.version === '' || target.version === version);
      if (isNamed && model.runner?.holds?.(request) === true) return model;
    }
    return undefined;
  }
}
