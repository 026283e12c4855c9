/** What a request is told that is not taken, or given up: what is wrong, and what to do. */
import type { ArrivedRequest } from '../../events.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { CallerCount } from '../queues/caller-counts.ts';
import { retryAfterMs } from '../queues/wait-estimate.ts';
import type { Refusal } from './refusal.ts';
import type { RequestEntry } from './request-entry.ts';

export function unknownModelRefusal({ model }: ArrivedRequest): Refusal {
  return { code: 'unknown-model', message: `no model ${model} is served here; check its name and version` };
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

export function tooManyRowsRefusal({ rows }: ArrivedRequest, { policy, key }: ModelEntry): Refusal {
  const message = `${rows} rows are more than the ${policy.rowsMax} that ${key} takes; send fewer a request`;
  return { code: 'request-too-large', message };
}

export function tooManyBytesRefusal({ bytes }: ArrivedRequest, bytesMax: number, { key }: ModelEntry): Refusal {
  const message = `${bytes} bytes are more than the ${bytesMax} that may wait for ${key}; send less a request`;
  return { code: 'request-too-large', message };
}

export function queueFullRefusal(model: ModelEntry): Refusal {
  const message = `Exceeds maximum queue size: ${model.queue.requestCount} requests wait for ${model.key}, as many as may; retry after a pause`;
  return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
}

/** `level` counts from 0. */
export function levelFullRefusal(model: ModelEntry, level: number): Refusal {
  const count = model.queue.levels[level]?.requestCount ?? 0;
  const message = `Exceeds maximum queue size: ${count} requests wait for ${model.key} at priority ${level + 1}, as many as may; retry after a pause`;
  return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
}

export function queueBytesRefusal({ bytes }: ArrivedRequest, model: ModelEntry): Refusal {
  const { queue, key, policy } = model;
  const message = `${queue.byteCount} bytes wait for ${key} and ${bytes} more are over the ${policy.queueBytesMax} that may; retry after a pause`;
  return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
}

export function callerFullRefusal(caller: CallerCount, model: ModelEntry): Refusal {
  const message = `${caller.waitingRequests} requests of this caller wait on this server, as many as may of one caller; wait for answers before sending more`;
  return { code: 'caller-full', message, retryAfterMs: retryAfterMs(model) };
}

export function serverFullRefusal(waitingRequests: number, model: ModelEntry): Refusal {
  const message = `${waitingRequests} requests wait on this server, as many as may; retry after a pause`;
  return { code: 'server-full', message, retryAfterMs: retryAfterMs(model) };
}

export function serverBytesRefusal(
  { bytes }: ArrivedRequest,
  waitingBytes: number,
  bytesMax: number,
  model: ModelEntry,
): Refusal {
  const message = `${waitingBytes} bytes wait on this server and ${bytes} more are over the ${bytesMax} that may; retry after a pause`;
  return { code: 'server-full', message, retryAfterMs: retryAfterMs(model) };
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
