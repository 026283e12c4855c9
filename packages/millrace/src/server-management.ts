/** Management of the running server: delegates each operation to the part that owns the data, and combines their answers. */
import type { InstanceSnapshot } from '@millrace/core';
import { InferenceError } from '@millrace/protocol';
import type {
  ContextStatus,
  IndexEntry,
  InstanceStatus,
  LoadOverrides,
  Management,
  QueueStatus,
  StreamControl,
  StreamPage,
  StreamQuery,
  StreamStatus,
  TrafficChange,
  TrafficPolicy,
} from '@millrace/router';
import { deviceNameOf, type TrafficTable } from '@millrace/router/internal';
import type { Assembly } from './assemble.ts';

export interface ServerManagementParts {
  readonly assembly: Pick<Assembly, 'cache' | 'dataPlane' | 'fleet' | 'library' | 'models'>;
  readonly traffic: TrafficTable;
  /** Undefined: an embedded engine, which has none. */
  readonly streams?: StreamControl;
}

export class ServerManagement implements Management {
  readonly #assembly: ServerManagementParts['assembly'];
  readonly #traffic: TrafficTable;
  readonly #streams: StreamControl | undefined;

  constructor({ assembly, traffic, streams }: ServerManagementParts) {
    this.#assembly = assembly;
    this.#traffic = traffic;
    this.#streams = streams;
  }

  index(): Promise<readonly IndexEntry[]> {
    return this.#assembly.library.index();
  }

  load(model: string, overrides?: LoadOverrides): Promise<void> {
    return this.#assembly.library.load(model, overrides);
  }

  unload(model: string, options?: { readonly isWithDependents?: boolean }): Promise<void> {
    return this.#assembly.library.unload(model, options);
  }

  setPinned(model: string, version: string, isPinned: boolean): Promise<void> {
    return this.#assembly.library.setPinned(model, version, isPinned);
  }

  contexts(): readonly ContextStatus[] {
    const contexts = this.#assembly.library.contexts();
    return contexts.map((one) => ({ ...one, labels: this.#traffic.labelsOf(one.name, one.version) }));
  }

  /** The instances of every worker that serves a model; workers that still load are left out. */
  instances(): readonly InstanceStatus[] {
    const { dataPlane, fleet } = this.#assembly;
    const snapshots = new Map(dataPlane.inspection.instances().map((one) => [instanceKey(one.worker, one.model), one]));
    return fleet.workers().flatMap(({ worker, pid, models }) =>
      models.flatMap(({ model, placement }): InstanceStatus[] => {
        const snapshot = snapshots.get(instanceKey(worker, model.key));
        if (snapshot === undefined) return [];
        const { name, version } = model.view;
        const group = placement?.group ?? name;
        const device = placement === undefined ? 'cpu' : deviceNameOf(placement);
        return [{ worker, pid, model: name, version, group, device, ...stateOf(snapshot) }];
      }),
    );
  }

  queues(): QueueStatus {
    const contexts = this.#assembly.library.contexts();
    const byKey = new Map(this.#assembly.dataPlane.inspection.queues().map((queue) => [queue.model, queue]));
    const models = contexts.flatMap(({ name, version }) => {
      const model = this.#assembly.models.takeModel(name, version);
      const queue = model && byKey.get(model.key);
      if (queue === undefined) return [];
      const { waitingRequests, waitingBytes, waitMs } = queue;
      return [{ model: name, version, waitingRequests, waitingBytes, waitMs }];
    });
    return {
      waitingRequests: models.reduce((sum, one) => sum + one.waitingRequests, 0),
      waitingBytes: models.reduce((sum, one) => sum + one.waitingBytes, 0),
      runningRequests: contexts.reduce((sum, one) => sum + one.runningRequests, 0),
      models,
    };
  }

  closeBreaker(worker: number): void {
    this.#assembly.dataPlane.inspection.closeBreaker(worker);
  }

  flushCache(model?: string): number {
    return this.#assembly.cache.flush(model);
  }

  async streams(query: StreamQuery): Promise<StreamPage> {
    return this.#streams === undefined ? { streams: [], next: undefined } : this.#streams.streams(query);
  }

  stream(id: string): Promise<StreamStatus> {
    return this.#streams === undefined ? Promise.reject(noStream(id)) : this.#streams.stream(id);
  }

  cancelStream(id: string, reason: string): Promise<StreamStatus> {
    return this.#streams === undefined ? Promise.reject(noStream(id)) : this.#streams.cancelStream(id, reason);
  }

  traffic(model: string): TrafficPolicy {
    return this.#traffic.traffic(model);
  }

  changeTraffic(model: string, change: TrafficChange, expectedRevision?: number): Promise<TrafficPolicy> {
    return this.#traffic.changeTraffic(model, change, expectedRevision);
  }
}

function noStream(id: string): InferenceError {
  return new InferenceError('stream-not-found', `there is no stream ${id}: an embedded engine has no durable streams`);
}

function instanceKey(worker: number, model: string): string {
  return `${worker} ${model}`;
}

function stateOf({ breaker, outstandingBatches, rowMs, priorityMax }: InstanceSnapshot) {
  return { breaker, outstandingBatches, rowMs, priorityMax: Number.isFinite(priorityMax) ? priorityMax : undefined };
}
