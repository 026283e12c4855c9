/** Error messages for requests that are refused or abandoned: what is wrong, and what to do. */
import type { ArrivedRequest, ModelKey } from '../../events.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { CallerCount } from '../queues/caller-counts.ts';
import { retryAfterMs } from '../queues/wait-estimate.ts';
import type { Refusal } from './refusal.ts';
import type { RequestEntry } from './request-entry.ts';

export const drainingRefusal: Refusal = Object.freeze({
  code: 'draining',
  message: 'this server is shutting down; send the request to another one',
});

export function retiredRefusal({ key }: ModelEntry): Refusal {
  return {
    code: 'model-not-ready',
    message: `${key} is being unloaded; retry after a pause or request another version`,
  };
}

/** The model has lost its last worker. Names that nobody serves are refused before they come to the scheduler. */
export function unservedRefusal(model: ModelKey): Refusal {
  return {
    code: 'model-not-ready',
    message: `no worker can run ${model} at the moment; retry after a pause or request another version`,
  };
}

/** The model has lost its last worker while the request waited or ran: it may be the cause, and is not run a second time to find out. */
export function lostWithModelRefusal({ model, hasKilledWorker }: RequestEntry): Refusal {
  const refusal = unservedRefusal(model.key);
  if (!hasKilledWorker) return refusal;
  const message = `a worker died while it ran this request alone, and no other can run ${model.key} at the moment; check its inputs, and retry after a pause`;
  return { ...refusal, message, hasKilledWorker };
}

export function tooManyRowsRefusal({ rows }: ArrivedRequest, { policy, key }: ModelEntry): Refusal {
  const message = `the request has ${rows} rows, but ${key} takes at most ${policy.rowsMax}; send fewer rows per request`;
  return { code: 'request-too-large', message };
}

export function tooManyBytesRefusal({ bytes }: ArrivedRequest, bytesMax: number, { key }: ModelEntry): Refusal {
  const message = `the request has ${bytes} bytes, but at most ${bytesMax} may wait for ${key}; send less data per request`;
  return { code: 'request-too-large', message };
}

export function queueFullRefusal(model: ModelEntry): Refusal {
  const message = `Exceeds maximum queue size: the queue for ${model.key} is full (${model.queue.requestCount} of ${model.policy.queueRequestsMax} requests); retry after a pause`;
  return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
}

/** `level` counts from 0. */
export function levelFullRefusal(model: ModelEntry, level: number): Refusal {
  const count = model.queue.levels[level]?.requestCount ?? 0;
  const message = `Exceeds maximum queue size: the queue for ${model.key} at priority ${level + 1} is full (${count} requests); retry after a pause`;
  return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
}

export function queueBytesRefusal({ bytes }: ArrivedRequest, model: ModelEntry): Refusal {
  const { queue, key, policy } = model;
  const message = `the queue for ${key} is full (${queue.byteCount} of ${policy.queueBytesMax} bytes, and the request has ${bytes}); retry after a pause`;
  return { code: 'model-full', message, retryAfterMs: retryAfterMs(model) };
}

export function callerFullRefusal(caller: CallerCount, model: ModelEntry): Refusal {
  const message = `this caller has ${caller.waitingRequests} requests waiting on this server, the most that one caller may have; wait for answers before sending more`;
  return { code: 'caller-full', message, retryAfterMs: retryAfterMs(model) };
}

export function callerShareRefusal({ caller }: ArrivedRequest, model: ModelEntry): Refusal {
  const { queue, key } = model;
  const waiting = queue.levels.reduce((sum, level) => sum + level.rowsOf(caller), 0);
  const message = `this caller has ${waiting} requests waiting for ${key}, its share of the queue; read the answers of those that run, or cancel some, before sending more`;
  return { code: 'caller-full', message, retryAfterMs: retryAfterMs(model) };
}

export function serverFullRefusal(waitingRequests: number, model: ModelEntry): Refusal {
  const message = `the queue of this server is full (${waitingRequests} requests); retry after a pause`;
  return { code: 'server-full', message, retryAfterMs: retryAfterMs(model) };
}

export function serverBytesRefusal(
  { bytes }: ArrivedRequest,
  waitingBytes: number,
  bytesMax: number,
  model: ModelEntry,
): Refusal {
  const message = `the queue of this server is full (${waitingBytes} of ${bytesMax} bytes, and the request has ${bytes}); retry after a pause`;
  return { code: 'server-full', message, retryAfterMs: retryAfterMs(model) };
}

/** Begins with Triton's message, because its clients match on it, and adds what to do. */
export function queueTimeoutRefusal(entry: RequestEntry): Refusal {
  const { model, level, queueTimeoutAt = Number.POSITIVE_INFINITY, arrivedAt } = entry;
  // A time of microseconds, computed from large millisecond timestamps, has lost its last digits.
  const waited = `${Math.round((queueTimeoutAt - arrivedAt) * 1000) / 1000} ms, the limit at priority ${level + 1} of ${model.key}`;
  const message = `Request timeout expired: the request waited ${waited}; retry after a pause, or set a longer timeout`;
  return { code: 'queue-timeout', message };
}

export function expiredRefusal(when: string): Refusal {
  return { code: 'deadline-exceeded', message: `the deadline passed ${when}; set a later deadline` };
}
