/** Steps that wait for a model version to take requests. The models are watched only while some do. */
import type { KnownModels } from '../data-plane/known-models.ts';

interface VersionWaits {
  readonly model: string;
  readonly version: string;
  readonly callbacks: Set<() => void>;
}

export class ModelWaits {
  readonly #models: Pick<KnownModels, 'takeServed' | 'onChange'>;
  readonly #waits = new Map<string, VersionWaits>();
  #stopWatching: (() => void) | undefined;
  #isLooking: boolean = false;

  constructor(models: Pick<KnownModels, 'takeServed' | 'onChange'>) {
    this.#models = models;
  }

  /** Calls back once, with the next change after which the version takes requests; returns a function that cancels. */
  add(model: string, version: string, callback: () => void): () => void {
    const key = `${model}:${version}`;
    const waits = this.#waits.get(key) ?? { model, version, callbacks: new Set() };
    this.#waits.set(key, waits);
    waits.callbacks.add(callback);
    this.#stopWatching ??= this.#models.onChange(() => this.#lookSoon());
    return () => {
      waits.callbacks.delete(callback);
      if (waits.callbacks.size === 0 && this.#waits.get(key) === waits) this.#remove(key);
    };
  }

  /** What changes the models is still under way, and changes several of them. */
  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    queueMicrotask(() => {
      this.#isLooking = false;
      this.#look();
    });
  }

  #look(): void {
    for (const [key, { model, version, callbacks }] of [...this.#waits]) {
      if (this.#models.takeServed(model, version) === undefined) continue;
      this.#remove(key);
      for (const callback of callbacks) callback();
    }
  }

  #remove(key: string): void {
    this.#waits.delete(key);
    if (this.#waits.size > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }
}
