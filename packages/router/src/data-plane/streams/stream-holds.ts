/**
 * The streams that are pinned to a model. Its revision is not unloaded after it was replaced until they have let go of it,
 * as the state of sequences is waited for.
 */
export class StreamHolds {
  readonly #onRetired = new Set<() => void>();
  #onIdle: (() => void) | undefined;
  #isRetired: boolean = false;

  get count(): number {
    return this.#onRetired.size;
  }

  /** `onRetired` is called when a newer revision has replaced this one. Returns what lets go. */
  hold(onRetired: () => void): () => void {
    const listener = (): void => onRetired();
    this.#onRetired.add(listener);
    if (this.#isRetired) listener();
    return () => {
      if (this.#onRetired.delete(listener) && this.#onRetired.size === 0) this.#onIdle?.();
    };
  }

  /** Resolves when no stream holds the model; not if it is served again before. */
  retire(): Promise<void> {
    this.#isRetired = true;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    for (const listener of [...this.#onRetired]) listener();
    if (this.#onRetired.size === 0) this.#onIdle?.();
    return idle;
  }

  /** The model is served again. */
  reopen(): void {
    this.#isRetired = false;
    this.#onIdle = undefined;
  }
}
