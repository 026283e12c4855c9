import type { ModelStatus, WatchedHealth } from '@millrace/router';
import type { Assembly } from './assemble.ts';

/**
 * Whether a model version does not keep the server from being ready: it serves, is loaded on demand, is being unloaded,
 * or is tolerated: it was added later, or another version of its model serves.
 */
export function isReadyFor({ state, isTolerated }: ModelStatus): boolean {
  return state === 'ready' || state === 'evicted' || state === 'unloading' || isTolerated === true;
}

/** The server is live from the start, and ready from when its models are until it is told to stop. */
export class Readiness implements WatchedHealth {
  readonly isLive = true;
  readonly #models: Assembly['models'];
  readonly #isStrict: boolean;
  readonly #endListeners = new Set<() => void>();
  #isEnding: boolean = false;
  /** Undefined after a change of a model: probes come far more often than changes, and there may be many models. */
  #areModelsReady: boolean | undefined = undefined;

  constructor(models: Assembly['models'], isStrict: boolean) {
    this.#models = models;
    this.#isStrict = isStrict;
    models.onChange(() => {
      this.#areModelsReady = undefined;
    });
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  get isReady(): boolean {
    if (this.#isEnding) return false;
    this.#areModelsReady ??= this.#judgeModels();
    return this.#areModelsReady;
  }

  #judgeModels(): boolean {
    const statuses = this.#models.statuses();
    if (this.#isStrict) return statuses.every(isReadyFor);
    // Without models to serve the server is ready.
    if (statuses.length === 0) return true;
    const isAnyLoading = statuses.some(({ state, isTolerated }) => state === 'loading' && isTolerated !== true);
    return !isAnyLoading && statuses.some(({ state }) => state === 'ready' || state === 'evicted');
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
