/** The scheduler's state as metrics and management read it. */
import type { ModelKey, WorkerId } from '../events.ts';
import type { BreakerState } from './instances/circuit-breaker.ts';
import type { InstanceEntry } from './instances/instance-entry.ts';
import type { ModelEntry } from './models/model-entry.ts';
import { estimatedWaitMs } from './queues/wait-estimate.ts';

export interface InstanceSnapshot {
  readonly worker: WorkerId;
  readonly model: ModelKey;
  readonly breaker: BreakerState;
  readonly outstandingBatches: number;
  /** Milliseconds per row in batches of the largest allowed size; undefined before the first was measured. */
  readonly rowMs: number | undefined;
  readonly priorityMax: number;
}

export interface QueueSnapshot {
  readonly model: ModelKey;
  readonly waitingRequests: number;
  readonly waitingBytes: number;
  /** Estimated wait of a request of the default priority that arrives now; undefined while nothing was measured. */
  readonly waitMs: number | undefined;
  /** Rows that a batch may have, and instances that are used: all but warm spares and those that adaptive batching leaves out. */
  readonly batchRowsMax: number;
  readonly instancesInUse: number;
}

export function snapshotOf(instance: InstanceEntry, nowMs: number): InstanceSnapshot {
  const { worker, model, breaker, rowsPerMs, priorityMax } = instance;
  return {
    worker: worker.worker,
    model: model.key,
    breaker: breaker.stateAt(nowMs),
    outstandingBatches: worker.outstanding.filter((batch) => batch.model === model).length,
    rowMs: rowsPerMs === 0 ? undefined : 1 / rowsPerMs,
    priorityMax,
  };
}

export function snapshotOfQueue(model: ModelEntry): QueueSnapshot {
  const { key, queue, policy, instances } = model;
  return {
    model: key,
    waitingRequests: queue.requestCount,
    waitingBytes: queue.byteCount,
    waitMs: estimatedWaitMs(model, policy.priorityDefault - 1),
    batchRowsMax: model.batchRowsMax,
    instancesInUse: Math.min(instances.length, model.instancesInUseMax),
  };
}
