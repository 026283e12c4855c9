/**
 * Moves requests to revisions and away from them: shows the states that the keeper decided in the catalogue, and tells the
 * data plane whose requests it takes. Workers are not its concern (revision-workers.ts).
 */
import type { KeeperAction, VersionName } from '@millrace/core';
import type { ServedModels } from '../../catalogue/served-models.ts';
import type { ModelRoster } from '../../data-plane/model-roster.ts';
import type { ServedModel } from '../../data-plane/served-model.ts';
import { EnsembleStates, type EnsembleVerdict } from './ensembles/ensemble-states.ts';
import type { KeeperLoop } from './keeper-loop.ts';
import type { KnownRevisions } from './known-revisions.ts';
import type { Revision } from './revision.ts';
import type { RevisionListener } from './revision-listener.ts';

export interface RevisionTrafficParts {
  readonly models: ServedModels;
  readonly roster: ModelRoster;
  readonly listener: RevisionListener;
  readonly loop: KeeperLoop;
  readonly revisions: KnownRevisions;
}

export class RevisionTraffic {
  readonly #parts: RevisionTrafficParts;
  readonly #ensembles: EnsembleStates;

  constructor(parts: RevisionTrafficParts) {
    this.#parts = parts;
    this.#ensembles = new EnsembleStates({
      models: parts.models,
      report: (model, verdict) => this.#report(model, verdict),
    });
  }

  /** The revision takes its context's requests from now on. An ensemble's state follows its steps. */
  serve({ ensemble, models }: Revision, members: readonly number[]): void {
    // They may have been about to retire.
    for (const member of members) this.#parts.roster.add(models[member] as ServedModel);
    if (ensemble !== undefined) this.#ensembles.add(models[0] as ServedModel, ensemble);
  }

  /** Shows the state of a version, and lets the data plane take its requests when it is ready. */
  show({ model: name, version, by, status }: Extract<KeeperAction, { kind: 'version-state' }>): void {
    const { models, roster, listener, revisions } = this.#parts;
    const model = by && revisions.take(by.revision)?.models[by.member];
    const { state, reason } = status;
    const wasReady = model !== undefined && models.takeServed(name, version) === model;
    const isNewlyReady = model !== undefined && state === 'ready' && !wasReady;
    if (isNewlyReady) roster.add(model);
    models.show({ model: name, version }, status, model);
    if (isNewlyReady) listener.modelReady(model);
    else if (model !== undefined && (state === 'failed' || (state === 'loading' && wasReady)))
      listener.modelFailed(model, reason);
  }

  /** Nothing is known of the version any more. */
  remove({ model, version }: VersionName): void {
    this.#parts.models.remove({ model, version });
    this.#parts.listener.modelForgotten(model, version);
  }

  /** It takes no new requests. The keeper is told when those in progress are answered. */
  retire(revision: Revision, why: 'replaced' | 'unwanted' | 'evicted'): void {
    const { roster, loop, listener } = this.#parts;
    revision.retirements += 1;
    const { retirements } = revision;
    for (const model of revision.models) {
      this.#ensembles.remove(model);
      if (why === 'evicted') listener.modelEvicted(model);
      else listener.modelRetired(model, why);
    }
    void Promise.all(revision.models.map((model) => roster.retire(model, why !== 'evicted'))).then(() => {
      if (revision.retirements === retirements) loop.tell({ kind: 'idle', revision: revision.id });
    });
  }

  /** Nothing of it waits, runs or is in memory any more. */
  forget(revision: Revision): void {
    revision.noteForgotten();
    for (const model of revision.models) {
      model.runner?.forget?.();
      // It was not in memory when it was replaced, so nobody has waited for them.
      void model.streams.retire();
    }
  }

  stop(): void {
    this.#ensembles.stop();
  }

  #report(model: ServedModel, { state, reason }: EnsembleVerdict): void {
    const { loop, revisions } = this.#parts;
    const revision = revisions.takeOf(model)?.id;
    if (revision === undefined) return;
    const about = { revision, member: 0 };
    if (state === 'ready') loop.tell({ kind: 'servable', ...about, residentBytes: 0 });
    else if (state === 'loading') loop.tell({ kind: 'pending', ...about, reason });
    else loop.tell({ kind: 'unservable', ...about, reason, isFinal: true, residentBytes: 0, jitter: 0 });
  }
}
