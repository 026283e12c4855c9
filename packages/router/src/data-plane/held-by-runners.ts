import type { ModelKey } from '@millrace/core';
import type { CancelSignal } from '@millrace/protocol';
import type { Clock } from './clock.ts';
import type { InferAnswer, Runner } from './infer.ts';
import type { ValidInferRequest } from './valid-request.ts';

/** Counts, by model, the requests that runners have not answered yet: the scheduler knows only their parts. */
export class HeldByRunners {
  readonly #clock: Clock;
  readonly #counts = new Map<ModelKey, number>();
  /** Called when a model's count falls to zero. */
  readonly #onIdle: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  has(key: ModelKey): boolean {
    return this.#counts.has(key);
  }

  async run(runner: Runner, request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    const { key } = request.model;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    try {
      return await runner.run(request, signal);
    } finally {
      const held = (this.#counts.get(key) ?? 1) - 1;
      if (held > 0) this.#counts.set(key, held);
      else this.#counts.delete(key);
      request.model.usedAt = this.#clock.now();
      if (held === 0) for (const listener of this.#onIdle.splice(0)) listener();
    }
  }

  /** Resolves when no runner, or not that of the given model, holds a request any more. */
  async idle(key?: ModelKey): Promise<void> {
    const isBusy = (): boolean => (key === undefined ? this.#counts.size > 0 : this.#counts.has(key));
    while (isBusy()) {
      await new Promise<void>((resolve) => {
        this.#onIdle.push(resolve);
      });
    }
  }
}
