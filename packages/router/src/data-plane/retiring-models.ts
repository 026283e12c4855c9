import type { ModelKey } from '@millrace/core';
import type { InferRequest } from './infer.ts';
import type { ServedModel } from './served-model.ts';

/** Models that begin nothing new, from the word until nothing of them is left or they are taken back. */
export class RetiringModels {
  readonly #retiring = new Set<ModelKey>();
  /** Those whose runners still keep something from one request to the next. */
  readonly #closing = new Set<ServedModel>();
  /** Who waits for one to have nothing left. */
  readonly #onIdle = new Map<ModelKey, () => void>();

  /** Those that may be asked to go on with what they keep. */
  get closing(): Iterable<ServedModel> {
    return this.#closing;
  }

  has(model: ServedModel): boolean {
    return this.#retiring.has(model.key);
  }

  add(model: ServedModel): void {
    this.#retiring.add(model.key);
  }

  /** Resolves when its runner keeps nothing any more. */
  async close(model: ServedModel): Promise<void> {
    this.#closing.add(model);
    await model.runner?.close?.();
    this.#closing.delete(model);
  }

  /** It is served again: what waits for it to be idle is not called. */
  takeBack(model: ServedModel): void {
    this.#onIdle.delete(model.key);
    this.#retiring.delete(model.key);
    this.#closing.delete(model);
    model.runner?.reopen?.();
  }

  whenIdle(model: ServedModel, listener: () => void): void {
    this.#onIdle.set(model.key, listener);
  }

  /** Nothing of it waits or runs any more. */
  idle(key: ModelKey): void {
    this.#onIdle.get(key)?.();
    this.#onIdle.delete(key);
    this.#retiring.delete(key);
  }

  /** A version that begins nothing new but still holds what the request goes on with. */
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
