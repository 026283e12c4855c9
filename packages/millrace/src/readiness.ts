import type { WatchedHealth } from '@millrace/router';
import type { Assembly } from './assemble.ts';

/** Live from the start; ready once the models are, until the server is told to stop. */
export class Readiness implements WatchedHealth {
  readonly isLive = true;
  readonly #models: Assembly['models'];
  readonly #isStrict: boolean;
  readonly #endListeners = new Set<() => void>();
  #isEnding: boolean = false;

  constructor(models: Assembly['models'], isStrict: boolean) {
    this.#models = models;
    this.#isStrict = isStrict;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  get isReady(): boolean {
    if (this.#isEnding) return false;
    const states = this.#models.statuses().map(({ state }) => state);
    if (this.#isStrict) return states.every((state) => state === 'ready');
    return states.includes('ready') && !states.includes('loading');
  }

  onChange(listener: () => void): () => void {
    const stop = this.#models.onChange(listener);
    this.#endListeners.add(listener);
    return () => {
      stop();
      this.#endListeners.delete(listener);
    };
  }

  end(): void {
    this.#isEnding = true;
    for (const listener of this.#endListeners) listener();
  }
}
