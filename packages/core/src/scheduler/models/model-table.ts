import { assert } from '../../assert.ts';
import type { ModelKey } from '../../events.ts';
import type { ModelPolicy } from '../../model-policy.ts';
import { ModelEntry } from './model-entry.ts';

/** The models that are served, and those that were removed while workers still run batches of them. */
export class ModelTable {
  readonly #modelsMax: number;
  readonly #models = new Map<ModelKey, ModelEntry>();

  constructor(modelsMax: number) {
    this.#modelsMax = modelsMax;
  }

  get count(): number {
    return this.#models.size;
  }

  values(): IterableIterator<ModelEntry> {
    return this.#models.values();
  }

  takeKnown(key: ModelKey): ModelEntry | undefined {
    return this.#models.get(key);
  }

  /** Makes the model known, afresh when it was removed before, or changes its policy. */
  add(key: ModelKey, policy: ModelPolicy): ModelEntry {
    assert(policy.rowsMax >= 1 && policy.queueRequestsMax >= 1, 'a model takes at least one row and one request');
    const known = this.#models.get(key);
    if (known !== undefined && !known.isRemoved) {
      known.setPolicy(policy);
      known.isRetired = false;
      return known;
    }
    assert(known !== undefined || this.#models.size < this.#modelsMax, 'no more models than modelsMax');
    const model = new ModelEntry(key, policy);
    this.#models.set(key, model);
    return model;
  }

  /** Forgets a removed model whose last batch has come back. Under its key there may be a new one by now: that stays. */
  forgetIfOver(model: ModelEntry): void {
    const isOver = model.isRemoved && model.batchCount === 0;
    if (isOver && this.#models.get(model.key) === model) this.#models.delete(model.key);
  }
}
