/** Management without a server: a few models in memory. It passes the contract that every implementation passes. */
import { InferenceError } from '@millrace/protocol';
import type { TrafficChange, TrafficPolicy } from '../../../catalogue/traffic/traffic-policy.ts';
import type {
  BreakerState,
  ContextStatus,
  IndexEntry,
  InstanceStatus,
  LoadOverrides,
  Management,
  QueueStatus,
  StreamPage,
  StreamQuery,
  StreamStatus,
} from '../../../management/management.ts';

interface DoubleModel {
  readonly versions: readonly string[];
  isLoaded: boolean;
  wasLoaded: boolean;
  traffic: TrafficPolicy;
  readonly pinned: Set<string>;
}

const noTraffic: TrafficPolicy = { labels: new Map(), split: [], shadows: [], revision: 0 };

/** `mill` has versions 1 and 2 and is loaded; `spare` has version 1 and never was. */
export class ManagementDouble implements Management {
  readonly #models = new Map<string, DoubleModel>([
    ['mill', { versions: ['1', '2'], isLoaded: true, wasLoaded: true, traffic: noTraffic, pinned: new Set() }],
    ['spare', { versions: ['1'], isLoaded: false, wasLoaded: false, traffic: noTraffic, pinned: new Set() }],
  ]);
  /** The overrides of the last load. */
  overrides: LoadOverrides | undefined;
  isWithDependents: boolean | undefined;
  breaker: BreakerState = 'open';
  cachedResults = 3;
  /** Thrown by the next call of `index`, for tests of how an unexpected error is answered. */
  defect: Error | undefined;

  index(): Promise<readonly IndexEntry[]> {
    const { defect } = this;
    this.defect = undefined;
    if (defect !== undefined) return Promise.reject(defect);
    return Promise.resolve([...this.#models].flatMap(([name, model]) => indexEntries(name, model)));
  }

  async load(name: string, overrides?: LoadOverrides): Promise<void> {
    const model = this.#models.get(name);
    if (model === undefined) throw new InferenceError('invalid-request', `failed to load '${name}', it is not there`);
    this.overrides = overrides;
    model.isLoaded = true;
    model.wasLoaded = true;
  }

  async unload(name: string, options: { readonly isWithDependents?: boolean } = {}): Promise<void> {
    const model = this.#mustFind(name);
    this.isWithDependents = options.isWithDependents;
    model.isLoaded = false;
  }

  async setPinned(name: string, version: string, isPinned: boolean): Promise<void> {
    const { pinned } = this.#mustFind(name, version);
    if (isPinned) pinned.add(version);
    else pinned.delete(version);
  }

  contexts(): readonly ContextStatus[] {
    return [...this.#models]
      .filter(([, model]) => model.isLoaded)
      .flatMap(([name, model]) =>
        model.versions.map((version): ContextStatus => {
          const labels = [...model.traffic.labels].filter(([, target]) => target === version).map(([label]) => label);
          return {
            name,
            version,
            state: 'ready',
            reason: '',
            labels,
            isPinned: model.pinned.has(version),
            residentBytes: 2 ** 40,
            idleMs: version === '1' ? 12.5 : undefined,
            areStreamsExact: version === '1' ? false : undefined,
            waitingRequests: 3,
            runningRequests: 1,
            instances: 2,
          };
        }),
      );
  }

  instances(): readonly InstanceStatus[] {
    const common = { model: 'mill', version: '1', group: 'mill_0', outstandingBatches: 1 };
    return [
      { ...common, worker: 1, pid: 4711, device: 'CPU', breaker: this.breaker, rowMs: 0.25, priorityMax: 2 },
      {
        ...common,
        worker: 2,
        pid: undefined,
        device: 'CPU',
        breaker: 'half-open',
        rowMs: undefined,
        priorityMax: undefined,
      },
    ];
  }

  queues(): QueueStatus {
    const model = { model: 'mill', waitingRequests: 3, waitingBytes: 2 ** 33 };
    return {
      waitingRequests: 6,
      waitingBytes: 2 ** 34,
      runningRequests: 1,
      models: [
        { ...model, version: '1', waitMs: 1.5 },
        { ...model, version: '2', waitMs: undefined },
      ],
    };
  }

  closeBreaker(worker: number): void {
    if (worker === 1) this.breaker = 'closed';
  }

  flushCache(model?: string): number {
    if (model !== undefined) this.#mustFind(model);
    const results = this.cachedResults;
    this.cachedResults = 0;
    return results;
  }

  /** Two streams, of which one has ended. */
  readonly #streams = new Map<string, StreamStatus>([
    ['stream-1', streamOf('stream-1', { isAttached: true })],
    [
      'stream-2',
      streamOf('stream-2', { isOwned: false, ended: { kind: 'ended', outcome: 'done', message: '', outputs: 9 } }),
    ],
  ]);
  streamQuery: StreamQuery | undefined;

  async streams(query: StreamQuery): Promise<StreamPage> {
    this.streamQuery = query;
    const { model, isOpenOnly, limit, after } = query;
    const found = [...this.#streams.values()].filter(
      (one) => one.id > after && one.model === (model ?? one.model) && !(isOpenOnly && one.ended !== undefined),
    );
    const streams = found.slice(0, limit);
    return { streams, next: found.length > limit ? streams.at(-1)?.id : undefined };
  }

  async stream(id: string): Promise<StreamStatus> {
    const found = this.#streams.get(id);
    if (found === undefined) throw new InferenceError('stream-not-found', `there is no stream ${id}`);
    return found;
  }

  async cancelStream(id: string, reason: string): Promise<StreamStatus> {
    const found = await this.stream(id);
    const ended = { kind: 'ended', outcome: 'cancelled', code: 'cancelled', message: reason, outputs: 9 } as const;
    const cancelled = { ...found, ended: found.ended ?? ended };
    this.#streams.set(id, cancelled);
    return cancelled;
  }

  traffic(name: string): TrafficPolicy {
    return this.#mustFind(name).traffic;
  }

  async changeTraffic(name: string, change: TrafficChange, expectedRevision?: number): Promise<TrafficPolicy> {
    const model = this.#mustFind(name);
    const { traffic } = model;
    if (expectedRevision !== undefined && expectedRevision !== traffic.revision) {
      throw new InferenceError('conflict', `the traffic of '${name}' has revision ${traffic.revision} now`);
    }
    const named = [
      ...(change.labels?.values() ?? []),
      ...[...(change.split ?? []), ...(change.shadows ?? [])].map(({ version }) => version),
    ];
    for (const version of named) {
      if (version === undefined || model.versions.includes(version)) continue;
      throw new InferenceError('invalid-request', `there is no version ${version} of '${name}'`);
    }
    const labels = new Map(traffic.labels);
    for (const [label, version] of change.labels ?? []) {
      if (version === undefined) labels.delete(label);
      else labels.set(label, version);
    }
    model.traffic = {
      labels,
      split: change.split ?? traffic.split,
      shadows: change.shadows ?? traffic.shadows,
      revision: traffic.revision + 1,
    };
    return model.traffic;
  }

  #mustFind(name: string, version?: string): DoubleModel {
    const model = this.#models.get(name);
    if (model === undefined) throw new InferenceError('unknown-model', `there is no model '${name}'`);
    if (version === undefined || model.versions.includes(version)) return model;
    throw new InferenceError('unknown-model', `there is no version ${version} of model '${name}'`);
  }
}

function streamOf(id: string, more: Partial<StreamStatus>): StreamStatus {
  return {
    id,
    model: 'mill',
    version: '1',
    epoch: 2,
    isOwned: true,
    isAttached: false,
    openedAtMs: 1_700_000_000_000,
    ageMs: 1500.5,
    expiresAtMs: 1_700_086_400_000,
    acceptedInput: 4,
    outputs: 9,
    journalBytes: 2 ** 33,
    exactness: 'unproven',
    ended: undefined,
    ...more,
  };
}

function indexEntries(name: string, model: DoubleModel): readonly IndexEntry[] {
  if (!model.wasLoaded) return [{ name }];
  return model.versions.map((version) =>
    model.isLoaded ? { name, version, state: 'READY' } : { name, version, state: 'UNAVAILABLE', reason: 'unloaded' },
  );
}
