/** Results of the operations as messages. */
import { create } from '@bufbuild/protobuf';
import type { ModelState } from '../../../catalogue/catalogue.ts';
import type { TrafficPolicy } from '../../../catalogue/traffic/traffic-policy.ts';
import type {
  BreakerState,
  ContextStatus,
  IndexEntry,
  InstanceStatus,
  QueueStatus,
  StreamPage,
  StreamStatus,
} from '../../../management/management.ts';
import * as v1 from '../../../proto/generated/millrace/v1/management_pb.ts';
import { isExact } from '../../../streams/exactness.ts';

const contextStates: Readonly<Record<ModelState, v1.ContextState>> = {
  loading: v1.ContextState.LOADING,
  ready: v1.ContextState.READY,
  unloading: v1.ContextState.UNLOADING,
  failed: v1.ContextState.FAILED,
  evicted: v1.ContextState.EVICTED,
};

const breakers: Readonly<Record<BreakerState, v1.Breaker>> = {
  closed: v1.Breaker.CLOSED,
  open: v1.Breaker.OPEN,
  'half-open': v1.Breaker.HALF_OPEN,
};

export function contextsMessage(contexts: readonly ContextStatus[]): v1.ListContextsResponse {
  return create(v1.ListContextsResponseSchema, {
    contexts: contexts.map((context) => ({
      model: context.name,
      version: context.version,
      state: contextStates[context.state],
      reason: context.reason,
      labels: [...context.labels],
      pinned: context.isPinned,
      residentBytes: BigInt(context.residentBytes),
      ...(context.idleMs === undefined ? {} : { idleMs: context.idleMs }),
      waitingRequests: context.waitingRequests,
      runningRequests: context.runningRequests,
      instances: context.instances,
      ...(context.areStreamsExact === undefined ? {} : { exact: context.areStreamsExact }),
    })),
  });
}

export function trafficMessage({ labels, split, shadows, revision }: TrafficPolicy): v1.Traffic {
  return create(v1.TrafficSchema, {
    labels: Object.fromEntries(labels),
    split: split.map(({ version, weight }) => ({ version, weight })),
    shadows: shadows.map(({ version, percent }) => ({ version, percent })),
    revision: BigInt(revision),
  });
}

export function indexMessage(entries: readonly IndexEntry[]): v1.RepositoryIndexResponse {
  return create(v1.RepositoryIndexResponseSchema, {
    models: entries.map(({ name, version = '', state = '', reason = '' }) => ({ name, version, state, reason })),
  });
}

export function instancesMessage(instances: readonly InstanceStatus[]): v1.ListInstancesResponse {
  return create(v1.ListInstancesResponseSchema, {
    instances: instances.map((instance) => ({
      worker: instance.worker,
      ...(instance.pid === undefined ? {} : { pid: instance.pid }),
      model: instance.model,
      version: instance.version,
      group: instance.group,
      device: instance.device,
      breaker: breakers[instance.breaker],
      outstandingBatches: instance.outstandingBatches,
      ...(instance.rowMs === undefined ? {} : { rowMs: instance.rowMs }),
      ...(instance.priorityMax === undefined ? {} : { priorityMax: instance.priorityMax }),
    })),
  });
}

export function queuesMessage({ models, ...totals }: QueueStatus): v1.Queues {
  return create(v1.QueuesSchema, {
    waitingRequests: totals.waitingRequests,
    waitingBytes: BigInt(totals.waitingBytes),
    runningRequests: totals.runningRequests,
    models: models.map((queue) => ({
      model: queue.model,
      version: queue.version,
      waitingRequests: queue.waitingRequests,
      waitingBytes: BigInt(queue.waitingBytes),
      ...(queue.waitMs === undefined ? {} : { waitMs: queue.waitMs }),
    })),
  });
}

export function streamsMessage({ streams, next = '' }: StreamPage): v1.ListStreamsResponse {
  return create(v1.ListStreamsResponseSchema, { streams: streams.map(streamMessage), next });
}

export function streamMessage({ ended, ...stream }: StreamStatus): v1.StreamStatus {
  return create(v1.StreamStatusSchema, {
    id: stream.id,
    model: stream.model,
    version: stream.version,
    epoch: BigInt(stream.epoch),
    owned: stream.isOwned,
    attached: stream.isAttached,
    openedAtMs: BigInt(stream.openedAtMs),
    ageMs: stream.ageMs,
    expiresAtMs: BigInt(stream.expiresAtMs),
    acceptedInputs: BigInt(stream.acceptedInput),
    outputs: BigInt(stream.outputs),
    journalBytes: BigInt(stream.journalBytes),
    ...(stream.exactness && { exact: isExact(stream.exactness), exactness: stream.exactness }),
    ...(ended && { ended: { outcome: ended.outcome, code: ended.code ?? '', message: ended.message } }),
  });
}
