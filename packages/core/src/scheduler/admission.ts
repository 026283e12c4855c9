import type { ArrivedRequest } from '../events.ts';
import type { CallerCount } from './caller-counts.ts';
import type { ModelEntry } from './model-entry.ts';
import type { Refusal } from './refusal.ts';
import type { RequestEntry } from './request-entry.ts';
import type { SchedulerConfig } from './scheduler-config.ts';
import { retryAfterMs } from './wait-estimate.ts';

/** What waits in all queues together. */
export interface WaitingTotals {
  readonly requestCount: number;
  readonly byteCount: number;
}

/** Refuses a request that no free place could help; undefined when it may wait, if there is room. */
export function hopelessRefusal(
  arrived: ArrivedRequest,
  model: ModelEntry | undefined,
  config: SchedulerConfig,
  nowMs: number,
): Refusal | undefined {
  if (model === undefined) {
    return { code: 'unknown-model', message: `no model ${arrived.model} is served here; check its name and version` };
  }
  if (model.isRemoved || model.isRetired) return removedRefusal(model);
  if (arrived.rows > model.policy.rowsMax) {
    const message = `${arrived.rows} rows are more than the ${model.policy.rowsMax} that ${model.key} takes; send fewer a request`;
    return { code: 'request-too-large', message };
  }
  const bytesMax = Math.min(model.policy.queueBytesMax, config.waitingBytesMax);
  if (arrived.bytes > bytesMax) {
    const message = `${arrived.bytes} bytes are more than the ${bytesMax} that may wait for ${model.key}; send less a request`;
    return { code: 'request-too-large', message };
  }
  if (arrived.deadlineAt <= nowMs) return expiredRefusal('before the request came');
  return undefined;
}

/** Refuses a request for which there is no room now. */
export function fullRefusal(
  arrived: ArrivedRequest,
  model: ModelEntry,
  caller: CallerCount,
  totals: WaitingTotals,
  config: SchedulerConfig,
): Refusal | undefined {
  const { queue, policy, key } = model;
  if (queue.requestCount >= policy.queueRequestsMax) {
    const message = `Exceeds maximum queue size: ${queue.requestCount} requests wait for ${key}, as many as may; retry after a pause`;
    return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
  }
  const level = queue.levelIndexOf(arrived.priority);
  const levelCount = queue.levels[level]?.requestCount ?? 0;
  if (levelCount >= (policy.queues[level]?.requestsMax ?? 0)) {
    const message = `Exceeds maximum queue size: ${levelCount} requests wait for ${key} at priority ${level + 1}, as many as may; retry after a pause`;
    return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
  }
  if (queue.byteCount + arrived.bytes > policy.queueBytesMax) {
    const message = `${queue.byteCount} bytes wait for ${key} and ${arrived.bytes} more are over the ${policy.queueBytesMax} that may; retry after a pause`;
    return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
  }
  if (caller.waitingRequests >= config.callerRequestsMax && caller.name !== '') {
    const message = `${caller.waitingRequests} requests of this caller wait on this server, as many as may of one caller; wait for answers before sending more`;
    return { code: 'caller-full', message, retryAfterMs: retryAfterMs(model) };
  }
  if (totals.requestCount >= config.waitingRequestsMax) {
    const message = `${totals.requestCount} requests wait on this server, as many as may; retry after a pause`;
    return { code: 'server-full', message, retryAfterMs: retryAfterMs(model) };
  }
  if (totals.byteCount + arrived.bytes > config.waitingBytesMax) {
    const message = `${totals.byteCount} bytes wait on this server and ${arrived.bytes} more are over the ${config.waitingBytesMax} that may; retry after a pause`;
    return { code: 'server-full', message, retryAfterMs: retryAfterMs(model) };
  }
  return undefined;
}

export const drainingRefusal: Refusal = Object.freeze({
  code: 'draining',
  message: 'this server is shutting down; send the request to another one',
});

export function removedRefusal(model: ModelEntry): Refusal {
  return {
    code: 'model-not-ready',
    message: `${model.key} is being unloaded; retry after a pause or ask for another version`,
  };
}

/** Says what Triton says, because its clients match on it, and then what to do. */
export function queueTimeoutRefusal(entry: RequestEntry): Refusal {
  const { model, level, queueTimeoutAt = Number.POSITIVE_INFINITY, arrivedAt } = entry;
  // A time of microseconds, found again from milliseconds since some morning, has lost its last digits.
  const waited = `${Math.round((queueTimeoutAt - arrivedAt) * 1000) / 1000} ms, as long as it may at priority ${level + 1} of ${model.key}`;
  const message = `Request timeout expired: the request waited ${waited}; retry after a pause, or let it wait longer`;
  return { code: 'queue-timeout', message };
}

export function expiredRefusal(when: string): Refusal {
  return { code: 'deadline-exceeded', message: `the deadline passed ${when}; give the request more time` };
}
