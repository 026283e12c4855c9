/** Adds and retires the models that the data plane serves, for the loading and unloading of models. */
import type { HeldByRunners } from './held-by-runners.ts';
import type { RetiringModels } from './retiring-models.ts';
import type { SchedulerLoop } from './scheduler-loop.ts';
import type { ServedModel } from './served-model.ts';

export interface ModelRoster {
  /** Adds the model, or cancels its retirement: a pending `retire` does not resolve then. */
  add(model: ServedModel): void;
  /** Workers serve the model, for the first time or after all of them were lost. A retirement goes on. */
  workersServe(model: ServedModel): void;
  /**
   * Gives the model no new requests; resolves when none of its requests waits or runs any more. Its workers must stay
   * until then. Never resolves when the model is added again meanwhile. `waitsForStreams`: also until no stream is pinned to
   * it, because it will not be served again.
   */
  retire(model: ServedModel, waitsForStreams?: boolean): Promise<void>;
  remove(model: ServedModel): void;
  isInUse(model: ServedModel): boolean;
}

export class LiveModelRoster implements ModelRoster {
  readonly #loop: SchedulerLoop;
  readonly #retiring: RetiringModels;
  readonly #heldByRunners: HeldByRunners;

  constructor(loop: SchedulerLoop, retiring: RetiringModels, heldByRunners: HeldByRunners) {
    this.#loop = loop;
    this.#retiring = retiring;
    this.#heldByRunners = heldByRunners;
  }

  add(model: ServedModel): void {
    this.#retiring.takeBack(model);
    this.#loop.addModel(model);
  }

  workersServe(model: ServedModel): void {
    this.#loop.addModel(model);
  }

  async retire(model: ServedModel, waitsForStreams = false): Promise<void> {
    const retirement = this.#retiring.add(model);
    const isPinned = waitsForStreams && model.streams.count > 0;
    if (model.runner?.close !== undefined || isPinned) await this.#retiring.close(model, retirement, isPinned);
    // Requests that its runner holds still submit parts to the queue.
    const isSplitting = model.answersAnyRows && this.#heldByRunners.has(model.key);
    if (model.runner !== undefined || isSplitting) await this.#heldByRunners.idle(model.key);
    if (!this.#retiring.isGoingOn(model, retirement)) return new Promise(() => {});
    return new Promise((resolve) => {
      this.#retiring.whenIdle(model, resolve);
      this.#loop.retireModel(model);
    });
  }

  remove(model: ServedModel): void {
    this.#loop.removeModel(model);
  }

  isInUse(model: ServedModel): boolean {
    if (this.#heldByRunners.has(model.key) || model.runner?.isHolding === true) return true;
    return !this.#loop.isIdle(model);
  }
}
