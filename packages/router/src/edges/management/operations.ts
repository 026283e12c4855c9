/**
 * The operations of management, called by every interface. Arguments are checked here,
 * so that each refusal has the same code and the same message on all of them.
 */
import { InferenceError, quote } from '@millrace/protocol';
import type { TrafficChange, TrafficPolicy } from '../../catalogue/traffic/traffic-policy.ts';
import type {
  ContextStatus,
  IndexEntry,
  InstanceStatus,
  Management,
  QueueStatus,
  StreamPage,
  StreamStatus,
} from '../../management/management.ts';
import { loadOverridesFrom } from '../repository/load-overrides.ts';
import type { ManagementConfig } from './config.ts';

/** Calls back repeatedly until the returned function is called. */
export type Every = (intervalMs: number, run: () => void) => () => void;

export interface QueueWatcher {
  tell(queues: QueueStatus): void;
  /** No more callbacks follow. */
  fail(error: unknown): void;
}

export interface OperationParts {
  readonly management: Management;
  readonly config: ManagementConfig;
  readonly every: Every;
}

const watchIntervalMsDefault = 1000;

export class ManagementOperations {
  readonly #management: Management;
  readonly #config: ManagementConfig;
  readonly #every: Every;
  #watchers = 0;

  constructor({ management, config, every }: OperationParts) {
    this.#management = management;
    this.#config = config;
    this.#every = every;
  }

  contexts(): readonly ContextStatus[] {
    return this.#management.contexts();
  }

  index(): Promise<readonly IndexEntry[]> {
    return this.#management.index();
  }

  load(model: string, config: string | undefined, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
    return this.#management.load(named(model, 'model'), loadOverridesFrom(config, files));
  }

  unload(model: string, isWithDependents: boolean): Promise<void> {
    return this.#management.unload(named(model, 'model'), { isWithDependents });
  }

  setPinned(model: string, version: string, isPinned: boolean): Promise<void> {
    return this.#management.setPinned(named(model, 'model'), named(version, 'version'), isPinned);
  }

  traffic(model: string): TrafficPolicy {
    return this.#management.traffic(named(model, 'model'));
  }

  /** An empty change is refused, because it is probably a mistake. */
  async changeTraffic(
    model: string,
    change: TrafficChange,
    expectedRevision: number | undefined,
  ): Promise<TrafficPolicy> {
    const { labels, split, shadows } = change;
    if ((labels?.size ?? 0) === 0 && split === undefined && shadows === undefined) {
      throw invalid('the change is empty; give labels, a split or shadows');
    }
    this.#checkCount('labels', labels?.size ?? 0, this.#config.labelsMax);
    this.#checkCount('versions in the split', split?.length ?? 0, this.#config.versionsMax);
    this.#checkCount('shadows', shadows?.length ?? 0, this.#config.versionsMax);
    for (const [label, version] of labels ?? []) {
      named(label, 'label');
      if (version !== undefined) named(version, `version of label ${quote(label)}`);
    }
    for (const { version, weight } of split ?? [])
      finite(weight, `the weight of version ${quote(named(version, 'version'))}`);
    for (const { version, percent } of shadows ?? []) {
      finite(percent, `the percent of version ${quote(named(version, 'version'))}`);
    }
    return this.#management.changeTraffic(named(model, 'model'), change, expectedRevision);
  }

  instances(): readonly InstanceStatus[] {
    return this.#management.instances();
  }

  closeBreaker(worker: number): void {
    if (!this.#management.instances().some((instance) => instance.worker === worker)) {
      throw invalid(`there is no worker ${worker}; list the instances to see the workers`);
    }
    this.#management.closeBreaker(worker);
  }

  queues(): QueueStatus {
    return this.#management.queues();
  }

  /** Reports the queues at once and then at every interval, until the returned function is called. */
  watchQueues(intervalMs: number, watcher: QueueWatcher): () => void {
    const { watchIntervalMsMin, watchIntervalMsMax, watchersMax } = this.#config;
    const wanted = intervalMs === 0 ? watchIntervalMsDefault : intervalMs;
    if (wanted < watchIntervalMsMin || wanted > watchIntervalMsMax) {
      throw invalid(`the interval must be ${watchIntervalMsMin} to ${watchIntervalMsMax} ms, not ${wanted}`);
    }
    if (this.#watchers >= watchersMax) {
      throw new InferenceError(
        'server-full',
        `${watchersMax} callers already watch the queues, which is the limit; read them once instead`,
      );
    }
    const first = this.#management.queues();
    this.#watchers += 1;
    let isWatching = true;
    const stop = this.#every(wanted, () => {
      try {
        watcher.tell(this.#management.queues());
      } catch (error) {
        watcher.fail(error);
      }
    });
    watcher.tell(first);
    return () => {
      if (!isWatching) return;
      isWatching = false;
      this.#watchers -= 1;
      stop();
    };
  }

  /** Empty: of all models. */
  flushCache(model: string): number {
    return this.#management.flushCache(model === '' ? undefined : model);
  }

  /** A limit of 0 and an empty model or page stand for those that are not given. */
  async streams(asked: {
    readonly model: string;
    readonly isOpenOnly: boolean;
    readonly limit: number;
    readonly after: string;
  }): Promise<StreamPage> {
    const { streamsPerPageMax, streamsPerPageDefault } = this.#config;
    const { model, isOpenOnly, limit, after } = asked;
    if (limit > streamsPerPageMax) {
      throw invalid(`a page has at most ${streamsPerPageMax} streams, not ${limit}; ask for several pages`);
    }
    return this.#management.streams({
      model: model === '' ? undefined : model,
      isOpenOnly,
      limit: limit === 0 ? Math.min(streamsPerPageDefault, streamsPerPageMax) : limit,
      after,
    });
  }

  async stream(id: string): Promise<StreamStatus> {
    return this.#management.stream(named(id, 'stream'));
  }

  async cancelStream(id: string, reason: string): Promise<StreamStatus> {
    return this.#management.cancelStream(named(id, 'stream'), reason);
  }

  #checkCount(what: string, count: number, max: number): void {
    if (count > max) throw invalid(`one change has at most ${max} ${what}, this one has ${count}`);
  }
}

function named(value: string, what: string): string {
  if (value !== '') return value;
  throw invalid(`the ${what} is missing`);
}

function finite(value: number, what: string): void {
  if (!Number.isFinite(value)) throw invalid(`${what} must be a number, not ${value}`);
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
