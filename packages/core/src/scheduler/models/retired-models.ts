import type { ModelKey } from '../../events.ts';
import type { ActionList } from '../action-list.ts';
import type { ModelEntry } from './model-entry.ts';

/** Models that get no new requests and still have work; each is reported once, when it has none left. */
export class RetiredModels {
  #models: ModelEntry[] = [];

  /** False: it was retired before. */
  add(model: ModelEntry): boolean {
    if (model.isRetired) return false;
    model.isRetired = true;
    // It may still be listed from before it was reinstated.
    if (!this.#models.includes(model)) this.#models.push(model);
    return true;
  }

  /**
   * `takeKnown`: the current model of a key. A model that was removed and added again has two entries, the old one with
   * the batches that were in flight then: the key is idle when neither has work.
   */
  tellIdle(actions: ActionList, takeKnown: (key: ModelKey) => ModelEntry | undefined): void {
    if (this.#models.length === 0) return;
    // Those that are not retired any more were added again in the meantime.
    const retired = this.#models.filter((model) => model.isRetired);
    const busy = new Set<ModelKey>();
    for (const model of retired) {
      const known = takeKnown(model.key);
      if (hasWork(model) || (known !== undefined && hasWork(known))) busy.add(model.key);
    }
    const idle = new Set(retired.map(({ key }) => key).filter((key) => !busy.has(key)));
    for (const key of idle) actions.add({ kind: 'model-idle', model: key });
    this.#models = retired.filter(({ key }) => busy.has(key));
  }
}

function hasWork(model: ModelEntry): boolean {
  return model.queue.requestCount > 0 || model.batchCount > 0;
}
