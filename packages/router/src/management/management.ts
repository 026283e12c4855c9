/**
 * What an operator may see and change of a running server. REST, gRPC and the command line all call this; what it
 * changes is in the metadata store before the promise resolves. Rejects with an `InferenceError` only.
 */

import type { BreakerState } from '@millrace/core';
import type { TrafficControl } from '../catalogue/traffic/traffic-policy.ts';
import type { ContextStatus } from '../life-cycle/context-statuses.ts';
import type { LoadOverrides } from '../life-cycle/explicit/load-overrides.ts';
import type { ModelControl } from '../life-cycle/model-control.ts';
import type { IndexEntry } from '../life-cycle/repository-index.ts';
import type { StreamControl, StreamPage, StreamQuery } from '../streams/stream-directory.ts';
import type { StreamStatus } from '../streams/stream-gateway.ts';

export type {
  BreakerState,
  ContextStatus,
  IndexEntry,
  LoadOverrides,
  StreamControl,
  StreamPage,
  StreamQuery,
  StreamStatus,
};

export interface Management extends ModelControl, StreamControl, TrafficControl {
  instances(): readonly InstanceStatus[];
  queues(): QueueStatus;
  /** Closes the breaker of an instance: it takes requests again from now on. */
  closeBreaker(worker: number): void;
  /** Removes cached results of one model or of all; returns how many. */
  flushCache(model?: string): number;
}

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
    /** The estimated wait of a request that arrives now; undefined when nothing is known yet. */
    readonly waitMs: number | undefined;
  }[];
}
