import type { ModelStatus, WatchedHealth } from '@millrace/router';
import type { Assembly } from './assemble.ts';

/**
 * Whether a model version is no reason to call the server unready: it serves, is loaded when a request comes, is on its
 * way out, or is an addition that failed beside what serves.
 */
export function isReadyFor({ state, isTolerated }: ModelStatus): boolean {
  return state === 'ready' || state === 'evicted' || state === 'unloading' || isTolerated === true;
}

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
    const statuses = this.#models.statuses();
    if (this.#isStrict) return statuses.every(isReadyFor);
    // Nothing is wanted, so nothing is missing.
    if (statuses.length === 0) return true;
    const states = statuses.map(({ state }) => state);
    return (states.includes('ready') || states.includes('evicted')) && !states.includes('loading');
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
