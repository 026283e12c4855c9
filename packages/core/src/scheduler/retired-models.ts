import type { ModelKey } from '../events.ts';
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

  /**
   * `takeKnown`: the model that is known by a key now. A model that was removed and added anew has two entries, the old one with the batches
   * that were in flight then: the key is idle when neither has work, and the new one is retired as well.
   */
  tellIdle(actions: ActionList, takeKnown: (key: ModelKey) => ModelEntry | undefined): void {
    if (this.#models.length === 0) return;
    // Those that are not retired any more were added anew in the meantime.
    const retired = this.#models.filter((model) => model.isRetired);
    const working = retired.filter((model) => model.queue.requestCount > 0 || model.batchCount > 0);
    this.#models = working;
    if (working.length === retired.length) return;
    const idle = new Set(retired.filter((model) => !working.includes(model)).map(({ key }) => key));
    for (const key of idle) {
      const isTakenBack = takeKnown(key)?.isRetired === false;
      if (!isTakenBack && !working.some((model) => model.key === key)) actions.add({ kind: 'model-idle', model: key });
    }
  }
}
