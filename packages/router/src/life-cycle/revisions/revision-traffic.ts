/**
 * Moves requests to revisions and away from them: tells the catalogue which revision serves a model and in what state it
 * is, and the data plane whose requests it takes. Workers are not its concern (revision-workers.ts).
 */
import type { KeeperAction } from '@millrace/core';
import type { ServedModels } from '../../catalogue/served-models.ts';
import type { ModelRoster } from '../../data-plane/model-roster.ts';
import type { ServedModel } from '../../data-plane/served-model.ts';
import type { EnsembleDefinition } from '../../model/ensemble-definition.ts';
import { EnsembleStates } from './ensembles/ensemble-states.ts';
import type { KeeperLoop } from './keeper-loop.ts';
import type { Revision } from './revision.ts';
import type { RevisionListener } from './revision-listener.ts';

export interface RevisionTrafficParts {
  readonly models: ServedModels;
  readonly roster: ModelRoster;
  readonly listener: RevisionListener;
  readonly loop: KeeperLoop;
}

export class RevisionTraffic {
  readonly #parts: RevisionTrafficParts;
  readonly #ensembles: EnsembleStates;

  constructor(parts: RevisionTrafficParts) {
    this.#parts = parts;
    const { models, roster, listener } = parts;
    this.#ensembles = new EnsembleStates({
      models,
      onReady: (model) => {
        roster.add(model);
        listener.modelReady(model);
      },
      onFailed: (model, reason) => listener.modelFailed(model, reason),
    });
  }

  /** Lists its models as loading, where nothing serves under their names. */
  announce(revision: Revision): void {
    const { models, loop } = this.#parts;
    // Under a budget models are loaded on demand, the first time too; a model without workers needs no load.
    const isAwaited = loop.keeper.budgetBytes !== Number.POSITIVE_INFINITY && revision.loads.length > 0;
    for (const model of revision.models) models.announce(model, isAwaited);
  }

  /** The revision takes its context's requests from now on. */
  serve(revision: Revision): void {
    revision.isServing = true;
    if (revision.ensemble !== undefined) {
      this.#serveEnsemble(revision.models[0] as ServedModel, revision.ensemble);
      return;
    }
    for (const model of revision.models) {
      const reason = revision.outcomes.get(model) ?? '';
      if (reason !== '') {
        this.reportFailed(model, reason);
      } else {
        // It may have been about to retire.
        this.#parts.roster.add(model);
        this.serveModel(model);
      }
    }
  }

  serveModel(model: ServedModel): void {
    this.#parts.models.serve(model);
    this.#parts.listener.modelReady(model);
  }

  reportFailed(model: ServedModel, reason: string): void {
    this.#parts.models.setState(model, 'failed', reason);
    this.#parts.listener.modelFailed(model, reason);
  }

  /** It takes no new requests. The keeper is told when those in progress are answered. */
  retire(revision: Revision, why: 'replaced' | 'unwanted' | 'evicted'): void {
    const { roster, loop } = this.#parts;
    revision.isServing = false;
    revision.isOver = why !== 'evicted';
    revision.retirements += 1;
    const { retirements } = revision;
    for (const model of revision.models) {
      this.#ensembles.remove(model);
      this.#reportRetired(model, why);
    }
    void Promise.all(revision.models.map((model) => roster.retire(model))).then(() => {
      if (revision.retirements === retirements) loop.tell({ kind: 'idle', revision: revision.id });
    });
  }

  /** It is not in memory, and is loaded again on demand. */
  setAside(revision: Revision): void {
    for (const model of revision.models) this.#parts.models.setAside(model);
  }

  /** Its load failed; the previous revision continues to serve. */
  reportLoadFailed(revision: Revision, action: Extract<KeeperAction, { kind: 'failed' }>): void {
    const { models, listener } = this.#parts;
    const { reason, isOldServing, retryInMs } = action;
    listener.loadFailed({ context: revision.plan.name, reason, isOldServing, retryInMs });
    for (const model of revision.models) {
      const why = revision.outcomes.get(model) || reason;
      const isServed = models.takeServed(model.view.name, model.view.version) !== undefined;
      if (isServed) models.noteReplacementFailed(model, why);
      else this.reportFailed(model, why);
    }
  }

  /** Nothing of it waits, runs or is in memory any more. */
  forget(revision: Revision): void {
    const { models, listener } = this.#parts;
    revision.noteForgotten();
    for (const model of revision.models) {
      const { name, version } = model.view;
      model.runner?.forget?.();
      if (models.remove(model)) listener.modelForgotten(name, version);
    }
  }

  stop(): void {
    this.#ensembles.stop();
  }

  /** Its state follows its steps from now on. */
  #serveEnsemble(model: ServedModel, ensemble: EnsembleDefinition): void {
    this.#parts.models.replace(model);
    this.#ensembles.add(model, ensemble);
  }

  #reportRetired(model: ServedModel, why: 'replaced' | 'unwanted' | 'evicted'): void {
    const { models, listener } = this.#parts;
    if (why === 'evicted') {
      models.setAside(model);
      listener.modelEvicted(model);
      return;
    }
    const { name, version } = model.view;
    if (models.takeModel(name, version) === model) models.setState(model, 'unloading', 'it is being unloaded');
    listener.modelRetired(model, why);
  }
}
