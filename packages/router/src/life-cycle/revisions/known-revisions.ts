import type { RevisionId } from '@millrace/core';
import type { ServedModel } from '../../data-plane/served-model.ts';
import type { Revision } from './revision.ts';

/** Every revision from its announcement until nothing of it is left. */
export class KnownRevisions {
  readonly #byId = new Map<RevisionId, Revision>();
  readonly #byModel = new WeakMap<ServedModel, Revision>();

  add(revision: Revision): void {
    this.#byId.set(revision.id, revision);
    for (const model of revision.models) this.#byModel.set(model, revision);
  }

  remove(revision: Revision): void {
    this.#byId.delete(revision.id);
  }

  take(id: RevisionId): Revision | undefined {
    return this.#byId.get(id);
  }

  /** Also finds a removed revision, as long as the model is referenced. */
  takeOf(model: ServedModel): Revision | undefined {
    return this.#byModel.get(model);
  }

  all(): readonly Revision[] {
    return [...this.#byId.values()];
  }

  /** When one of its models last had a request; undefined: none has had one yet. */
  usedAt(id: RevisionId): number | undefined {
    let latest: number | undefined;
    for (const { usedAt } of this.take(id)?.models ?? []) {
      if (usedAt !== undefined && (latest === undefined || usedAt > latest)) latest = usedAt;
    }
    return latest;
  }
}
