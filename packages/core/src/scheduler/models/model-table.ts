import { assert } from '../../assert.ts';
import type { ModelKey } from '../../events.ts';
import type { ModelPolicy } from '../../model-policy.ts';
import { ModelEntry } from './model-entry.ts';

/** The models that are served, and those removed with batches still in flight. */
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

  /** Adds the model, also after it was removed, or changes its policy. */
  add(key: ModelKey, policy: ModelPolicy): ModelEntry {
    assert(policy.rowsMax >= 1 && policy.queueRequestsMax >= 1, 'rowsMax and queueRequestsMax are at least 1');
    const known = this.#models.get(key);
    if (known !== undefined && !known.isRemoved) {
      known.setPolicy(policy);
      known.isRetired = false;
      return known;
    }
    assert(known !== undefined || this.#models.size < this.#modelsMax, 'the number of models is at most modelsMax');
    const model = new ModelEntry(key, policy);
    this.#models.set(key, model);
    return model;
  }

  /** Forgets a removed model whose last batch has ended. A new model under the same key stays. */
  forgetIfOver(model: ModelEntry): void {
    const isOver = model.isRemoved && model.batchCount === 0;
    if (isOver && this.#models.get(model.key) === model) this.#models.delete(model.key);
  }
}
