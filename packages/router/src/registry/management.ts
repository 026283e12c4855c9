/**
 * What an operator may see and change of a running server. REST, gRPC and the command line all call this; what it
 * changes is in the metadata store before the promise resolves. Rejects with an `InferenceError` only.
 */
import type { ModelState, ModelStatus } from './catalogue.ts';

export interface Management {
  /** Every model of the repository, loaded or not, as Triton's repository index tells it. */
  index(): Promise<readonly IndexEntry[]>;
  /** Loads the model, or loads it anew beside the old one; resolves when its versions are served. A failure leaves the old ones. */
  load(model: string, overrides?: LoadOverrides): Promise<void>;
  /** Resolves when nothing of the model is served any more; what was accepted is still answered. */
  unload(model: string, options?: { readonly isWithDependents?: boolean }): Promise<void>;
  /** A pinned version is never unloaded for the memory budget. */
  setPinned(model: string, version: string, isPinned: boolean): Promise<void>;

  contexts(): readonly ContextStatus[];
  instances(): readonly InstanceStatus[];
  queues(): QueueStatus;
  /** Closes the breaker of an instance: it is trusted again from now on. */
  closeBreaker(worker: number): void;
  /** Forgets cached results, of one model or of all; how many. */
  flushCache(model?: string): number;

  traffic(model: string): TrafficPolicy;
  /** Throws `conflict` when `expectedRevision` is given and is not the present one. */
  changeTraffic(model: string, change: TrafficChange, expectedRevision?: number): Promise<TrafficPolicy>;
}

export interface LoadOverrides {
  /** The whole configuration, in its JSON form, instead of the repository's. */
  readonly config?: string;
  /** By path below the model's folder, for instance `1/model.onnx`; instead of everything in the repository. */
  readonly files?: ReadonlyMap<string, Uint8Array>;
}

/** A model that was never loaded has a name only. */
export interface IndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state?: 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING';
  readonly reason?: string;
}

/** One model version and all that belongs to it. */
export interface ContextStatus extends ModelStatus {
  readonly labels: readonly string[];
  readonly isPinned: boolean;
  /** Memory of its workers as the system measured it; 0 while it has none. */
  readonly residentBytes: number;
  /** Milliseconds since it last had a request; undefined: it had none yet. */
  readonly idleMs: number | undefined;
  readonly waitingRequests: number;
  readonly runningRequests: number;
  readonly instances: number;
  readonly state: ModelState;
}

export type BreakerState = 'closed' | 'open' | 'half-open';

/** One worker and a model version that it serves. */
export interface InstanceStatus {
  readonly worker: number;
  readonly pid: number | undefined;
  readonly model: string;
  readonly version: string;
  /** The instance group's name. */
  readonly group: string;
  readonly device: string;
  readonly breaker: BreakerState;
  readonly outstandingBatches: number;
  /** Milliseconds a row takes here, as measured lately; undefined before the first batch. */
  readonly rowMs: number | undefined;
  /** It takes requests of this priority level and more urgent ones only; undefined: all. */
  readonly priorityMax: number | undefined;
}

export interface QueueStatus {
  readonly waitingRequests: number;
  readonly waitingBytes: number;
  readonly runningRequests: number;
  readonly models: readonly {
    readonly model: string;
    readonly version: string;
    readonly waitingRequests: number;
    readonly waitingBytes: number;
    /** What a request that came now would wait, as estimated; undefined when nothing is known yet. */
    readonly waitMs: number | undefined;
  }[];
}

/** How requests that name no version are spread, and what labels stand for. */
export interface TrafficPolicy {
  readonly labels: ReadonlyMap<string, string>;
  /** Shares of the requests that name neither version nor label; empty: the highest ready version takes all. */
  readonly split: readonly WeightedVersion[];
  /** Versions that get a copy of that part of the requests; nobody waits for their answers. */
  readonly shadows: readonly ShadowedVersion[];
  /** Rises with every change; 0: never changed. */
  readonly revision: number;
}

export interface WeightedVersion {
  readonly version: string;
  readonly weight: number;
}

export interface ShadowedVersion {
  readonly version: string;
  /** In (0, 100]. */
  readonly percent: number;
}

/** What is absent stays as it is; all of it takes effect at once. */
export interface TrafficChange {
  /** A version for a label, or undefined to remove the label. */
  readonly labels?: ReadonlyMap<string, string | undefined>;
  readonly split?: readonly WeightedVersion[];
  readonly shadows?: readonly ShadowedVersion[];
}
