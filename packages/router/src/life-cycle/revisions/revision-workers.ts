/** Has workers load and unload revisions, and reports to the keeper what becomes of each of their versions. */
import type { Lane } from '@millrace/protocol';
import type { Clock } from '../../data-plane/clock.ts';
import type { ModelRoster } from '../../data-plane/model-roster.ts';
import type { ServedModel } from '../../data-plane/served-model.ts';
import type { WorkerFleet } from '../../dispatch/worker-fleet.ts';
import type { LaneName } from '../../model/model-definition.ts';
import type { KeeperLoop } from './keeper-loop.ts';
import type { ModelSharing } from './model-sharing.ts';
import { type MeasureProcess, measuredSeldom, residentBytesOf } from './resident-memory.ts';
import type { Revision } from './revision.ts';
import type { RevisionListener } from './revision-listener.ts';

export interface RevisionWorkersParts {
  readonly clock: Clock;
  readonly lanes: Readonly<Record<LaneName, Lane>>;
  readonly fleet: WorkerFleet;
  readonly roster: ModelRoster;
  /** In [0, 1): spreads attempts. */
  readonly random: () => number;
  readonly measure: MeasureProcess;
  readonly listener: Pick<RevisionListener, 'loadStarted'>;
  readonly loop: KeeperLoop;
  readonly sharing: ModelSharing;
  /** A load found other files than those that were read. */
  readonly onFilesChanged: (model: string) => void;
}

export class RevisionWorkers {
  readonly #parts: RevisionWorkersParts;
  readonly #measureSeldom: MeasureProcess;

  constructor(parts: RevisionWorkersParts) {
    this.#parts = parts;
    this.#measureSeldom = measuredSeldom(parts.measure, () => parts.clock.now());
  }

  /** `attempt` counts from 1 the loads of this revision that have not succeeded. */
  load(revision: Revision, attempt: number): void {
    const { fleet, lanes, listener, sharing, onFilesChanged } = this.#parts;
    const { name, lane, workers } = revision.plan;
    listener.loadStarted(name);
    if (revision.loads.length === 0) {
      this.#loadWithoutWorkers(revision);
      return;
    }
    revision.running = fleet.add({
      name,
      lane: lanes[lane],
      workers,
      models: revision.loads,
      isRetry: attempt > 1,
      isShared: sharing.isShared(revision),
      isMeasured: sharing.isMeasured(revision),
      listener: {
        loadMeasured: (_model, processorMs) => sharing.noteLoaded(revision, processorMs),
        workerEndedIn: (_model, end) => sharing.noteWorkerEnded(revision, end),
        filesChanged: ({ view }) => onFilesChanged(view.name),
        modelServable: (model) => this.#servable(revision, model),
        modelUnservable: (model, reason, isFinal) => this.#unservable(revision, model, reason, isFinal),
        settled: () => this.#settled(revision),
      },
    });
  }

  async unload(revision: Revision): Promise<void> {
    const { fleet, roster, loop } = this.#parts;
    const { running } = revision;
    revision.running = undefined;
    if (running !== undefined) await fleet.remove(running);
    else for (const model of revision.models) roster.remove(model);
    loop.tell({ kind: 'unloaded', revision: revision.id });
  }

  /** There is nothing to load; whether it can be served is found out when it takes over. */
  #loadWithoutWorkers({ id, models }: Revision): void {
    const { loop } = this.#parts;
    for (const member of models.keys()) {
      loop.tell({ kind: 'pending', revision: id, member, reason: 'the model is loading' });
    }
    loop.tell({ kind: 'settled', revision: id, residentBytes: 0 });
  }

  #servable(revision: Revision, model: ServedModel): void {
    const residentBytes = this.#residentBytesOf(revision);
    this.#parts.loop.tell({ kind: 'servable', ...memberOf(revision, model), residentBytes });
  }

  #unservable(revision: Revision, model: ServedModel, reason: string, isFinal: boolean): void {
    const residentBytes = this.#residentBytesOf(revision);
    const jitter = this.#parts.random();
    this.#parts.loop.tell({ kind: 'unservable', ...memberOf(revision, model), reason, isFinal, residentBytes, jitter });
  }

  #settled(revision: Revision): void {
    this.#parts.loop.tell({ kind: 'settled', revision: revision.id, residentBytes: this.#residentBytesOf(revision) });
  }

  /** Without a budget nobody waits for it: a process that loads many models is measured now and then. */
  #residentBytesOf(revision: Revision): number {
    const { running } = revision;
    const { loop, measure } = this.#parts;
    const isBounded = loop.keeper.budgetBytes !== Number.POSITIVE_INFINITY;
    return running === undefined ? 0 : residentBytesOf(revision, running, isBounded ? measure : this.#measureSeldom);
  }
}

function memberOf(
  { id, models }: Revision,
  model: ServedModel,
): { readonly revision: number; readonly member: number } {
  return { revision: id, member: models.indexOf(model) };
}
