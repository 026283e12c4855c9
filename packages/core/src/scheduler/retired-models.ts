import type { ActionList } from './action-list.ts';
import type { ModelEntry } from './model-entry.ts';

/** Models that get no new requests and still have work; each is told of once, when it has none left. */
export class RetiredModels {
  #models: ModelEntry[] = [];

  /** False: it was retired before. */
  add(model: ModelEntry): boolean {
    if (model.isRetired) return false;
    model.isRetired = true;
    // It may still be listed from before it was taken back.
    if (!this.#models.includes(model)) this.#models.push(model);
    return true;
  }

  tellIdle(actions: ActionList): void {
    if (this.#models.length === 0) return;
    this.#models = this.#models.filter((model) => {
      // It was added anew in the meantime.
      if (!model.isRetired) return false;
      const isIdle = model.queue.requestCount === 0 && model.batchCount === 0;
      if (isIdle) actions.add({ kind: 'model-idle', model: model.key });
      return !isIdle;
    });
  }
}
