/** Results of the operations as JSON. Unknown values are left out. */
import type { HttpResponse } from '@millrace/http';
import type { JsonObject, JsonValue } from '@millrace/protocol';
import type { TrafficPolicy } from '../../../catalogue/traffic/traffic-policy.ts';
import type {
  ContextStatus,
  IndexEntry,
  InstanceStatus,
  QueueStatus,
  StreamPage,
  StreamStatus,
} from '../../../management/management.ts';
import { isExact } from '../../../streams/exactness.ts';
import { jsonResponse } from '../../rest/encode-model.ts';

export function encodeContexts(contexts: readonly ContextStatus[]): HttpResponse {
  return jsonResponse({
    contexts: contexts.map(({ name, labels, isPinned, idleMs, ...context }) => ({
      model: name,
      version: context.version,
      state: context.state,
      reason: context.reason,
      labels: [...labels],
      pinned: isPinned,
      residentBytes: context.residentBytes,
      ...optional('idleMs', idleMs),
      waitingRequests: context.waitingRequests,
      runningRequests: context.runningRequests,
      instances: context.instances,
      ...optional('exact', context.areStreamsExact),
    })),
  });
}

/** The revision is also the etag, for `If-Match`. */
export function encodeTraffic({ labels, split, shadows, revision }: TrafficPolicy): HttpResponse {
  const body = jsonResponse({
    labels: Object.fromEntries(labels),
    split: split.map(({ version, weight }) => ({ version, weight })),
    shadows: shadows.map(({ version, percent }) => ({ version, percent })),
    revision,
  });
  return { ...body, headers: [...body.headers, ['etag', `"${revision}"`]] };
}

export function encodeIndex(entries: readonly IndexEntry[]): HttpResponse {
  return jsonResponse({
    models: entries.map(({ name, version, state, reason }) => ({
      name,
      ...optional('version', version),
      ...optional('state', state),
      ...optional('reason', reason === '' ? undefined : reason),
    })),
  });
}

export function encodeInstances(instances: readonly InstanceStatus[]): HttpResponse {
  return jsonResponse({
    instances: instances.map(({ pid, rowMs, priorityMax, ...instance }) => ({
      worker: instance.worker,
      ...optional('pid', pid),
      model: instance.model,
      version: instance.version,
      group: instance.group,
      device: instance.device,
      breaker: instance.breaker,
      outstandingBatches: instance.outstandingBatches,
      ...optional('rowMs', rowMs),
      ...optional('priorityMax', priorityMax),
    })),
  });
}

export function encodeQueues({ models, ...totals }: QueueStatus): HttpResponse {
  return jsonResponse({
    waitingRequests: totals.waitingRequests,
    waitingBytes: totals.waitingBytes,
    runningRequests: totals.runningRequests,
    models: models.map(({ waitMs, ...queue }) => ({
      model: queue.model,
      version: queue.version,
      waitingRequests: queue.waitingRequests,
      waitingBytes: queue.waitingBytes,
      ...optional('waitMs', waitMs),
    })),
  });
}

export function encodeStreams({ streams, next }: StreamPage): HttpResponse {
  return jsonResponse({ streams: streams.map(streamObject), ...optional('next', next) });
}

export function encodeStream(stream: StreamStatus): HttpResponse {
  return jsonResponse(streamObject(stream));
}

function streamObject({ ended, ...stream }: StreamStatus): JsonObject {
  return {
    id: stream.id,
    model: stream.model,
    version: stream.version,
    epoch: stream.epoch,
    owned: stream.isOwned,
    attached: stream.isAttached,
    openedAtMs: stream.openedAtMs,
    ageMs: stream.ageMs,
    expiresAtMs: stream.expiresAtMs,
    acceptedInputs: stream.acceptedInput,
    outputs: stream.outputs,
    journalBytes: stream.journalBytes,
    ...(stream.exactness && { exact: isExact(stream.exactness), exactness: stream.exactness }),
    ...optional('ended', ended && { outcome: ended.outcome, ...optional('code', ended.code), message: ended.message }),
  };
}

export function encodeFlushed(results: number): HttpResponse {
  return jsonResponse({ results });
}

export function encodeNothing(): HttpResponse {
  return { status: 204, headers: [] };
}

function optional(name: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { [name]: value };
}
