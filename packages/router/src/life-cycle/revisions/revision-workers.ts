/** Makes workers load and unload revisions, and reports the outcome of each load to the keeper. */
import type { Lane } from '@millrace/protocol';
import type { ServedModels } from '../../catalogue/served-models.ts';
import type { ModelRoster } from '../../data-plane/model-roster.ts';
import type { ServedModel } from '../../data-plane/served-model.ts';
import type { WorkerFleet } from '../../dispatch/worker-fleet.ts';
import type { LaneName } from '../../model/model-definition.ts';
import type { KeeperLoop } from './keeper-loop.ts';
import type { ModelSharing } from './model-sharing.ts';
import { type MeasureProcess, residentBytesOf } from './resident-memory.ts';
import type { Revision } from './revision.ts';
import type { RevisionListener } from './revision-listener.ts';
import type { RevisionTraffic } from './revision-traffic.ts';

export interface RevisionWorkersParts {
  readonly lanes: Readonly<Record<LaneName, Lane>>;
  readonly fleet: WorkerFleet;
  readonly models: ServedModels;
  readonly roster: ModelRoster;
  /** In [0, 1): spreads attempts. */
  readonly random: () => number;
  readonly measure: MeasureProcess;
  readonly listener: Pick<RevisionListener, 'loadStarted'>;
  readonly loop: KeeperLoop;
  readonly traffic: RevisionTraffic;
  readonly sharing: ModelSharing;
}

export class RevisionWorkers {
  readonly #parts: RevisionWorkersParts;

  constructor(parts: RevisionWorkersParts) {
    this.#parts = parts;
  }

  load(revision: Revision): void {
    const { fleet, lanes, listener, loop, sharing, traffic } = this.#parts;
    const { name, lane, workers } = revision.plan;
    revision.outcomes.clear();
    revision.misfits.clear();
    listener.loadStarted(name);
    traffic.announce(revision);
    if (revision.loads.length === 0) {
      loop.tell({ kind: 'loaded', revision: revision.id, residentBytes: 0 });
      return;
    }
    revision.running = fleet.add({
      name,
      lane: lanes[lane],
      workers,
      models: revision.loads,
      isShared: sharing.isShared(revision),
      listener: {
        modelLoaded: (_model, processorMs) => sharing.noteLoaded(revision, processorMs),
        workerEndedIn: (_model, end) => sharing.noteWorkerEnded(revision, end),
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

  #servable(revision: Revision, model: ServedModel): void {
    revision.outcomes.set(model, '');
    if (revision.isServing) this.#parts.traffic.serveModel(model);
    else this.#endLoad(revision);
  }

  #unservable(revision: Revision, model: ServedModel, reason: string, isFinal: boolean): void {
    revision.outcomes.set(model, reason);
    if (isFinal) revision.misfits.add(model);
    if (revision.isServing) this.#parts.traffic.reportFailed(model, reason);
    else this.#endLoad(revision);
  }

  #settled(revision: Revision): void {
    if (!revision.isServing) this.#endLoad(revision);
    const { running } = revision;
    if (!revision.isServing || running === undefined) return;
    const residentBytes = residentBytesOf(revision, running, this.#parts.measure);
    this.#parts.loop.tell({ kind: 'measured', revision: revision.id, residentBytes });
  }

  /** Reports the outcome of the load to the keeper, once it is known. */
  #endLoad(revision: Revision): void {
    const { models: served, loop, measure, random } = this.#parts;
    const { running, outcomes, members, models } = revision;
    const isLoading = loop.keeper.takeRevision(revision.id)?.state === 'loading';
    if (running === undefined || !isLoading || outcomes.size < members.length) return;
    const failed = models.filter((model) => outcomes.get(model) !== '');
    const isServed = ({ view }: ServedModel) => served.takeServed(view.name, view.version) !== undefined;
    // New files of one model must not end the service of others in the same group.
    if (failed.length === members.length || failed.some(isServed)) {
      const reason = failed.map((model) => reasonOf(model, outcomes.get(model) ?? '', members.length)).join('; ');
      const isFinal = failed.every((model) => revision.misfits.has(model));
      loop.tell({ kind: 'load-failed', revision: revision.id, reason, jitter: random(), isFinal });
      return;
    }
    // Traffic moves when as many workers are ready as before, not with the first of them.
    const hasPredecessor = models.some(({ view }) => served.takeServed(view.name, '') !== undefined);
    if (hasPredecessor && !running.isSettled) return;
    loop.tell({ kind: 'loaded', revision: revision.id, residentBytes: residentBytesOf(revision, running, measure) });
  }
}

function reasonOf(model: ServedModel, reason: string, members: number): string {
  return members === 1 ? reason : `${model.view.name} version ${model.view.version}: ${reason}`;
}
