/**
 * Estimates how long a request that arrives now would wait. Estimates are optimistic, because requests are refused by
 * them.
 */
import type { ArrivedRequest } from '../../events.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { Refusal } from '../requests/refusal.ts';

/** An estimate has to be over a limit by this factor before a request is refused for it. */
const doubtFactor = 1.25;

/** Bounds of the retry delay that callers are told. */
export const retryAfterMsMin = 10;
export const retryAfterMsMax = 60_000;

/**
 * Milliseconds until a request of this level, counted from 0, begins to run: the work ahead of it divided by the
 * throughput of the instances. Undefined while no batch of the model has been measured.
 */
export function estimatedWaitMs(model: ModelEntry, level: number): number | undefined {
  const rowsPerMs = rowsPerMsFor(model, level);
  if (rowsPerMs === 0) return undefined;
  return (model.queue.rowsUpTo(level) + model.outstandingRows) / rowsPerMs;
}

/** Refuses a request that would wait too long for its deadline or its model; not called when an instance has room. */
export function waitRefusal(arrived: ArrivedRequest, model: ModelEntry, nowMs: number): Refusal | undefined {
  const { waitMsMax } = model.policy;
  const remainingMs = arrived.deadlineAt - nowMs;
  if (waitMsMax === Number.POSITIVE_INFINITY && remainingMs === Number.POSITIVE_INFINITY) return undefined;
  return limitedWaitRefusal(arrived, model, waitMsMax, remainingMs);
}

function limitedWaitRefusal(
  arrived: ArrivedRequest,
  model: ModelEntry,
  waitMsMax: number,
  remainingMs: number,
): Refusal | undefined {
  const level = model.queue.levelIndexOf(arrived.priority);
  const roughMs = estimatedWaitMs(model, level);
  if (roughMs === undefined || roughMs <= Math.min(waitMsMax, remainingMs) * doubtFactor) return undefined;
  const waitMs = Math.min(roughMs, waitInTurnMs(arrived, model, level));
  if (waitMs > remainingMs * doubtFactor) {
    const message = `the request would wait about ${Math.ceil(waitMs)} ms for ${model.key}, but its deadline is in ${Math.ceil(remainingMs)} ms; retry after a pause or set a later deadline`;
    return { code: 'wait-too-long', message, retryAfterMs: boundedRetryMs(waitMs - remainingMs) };
  }
  if (waitMs > waitMsMax * doubtFactor) {
    const message = `the request would wait about ${Math.ceil(waitMs)} ms for ${model.key}, whose limit is ${waitMsMax} ms; retry after a pause`;
    return { code: 'wait-too-long', message, retryAfterMs: boundedRetryMs(waitMs - waitMsMax) };
  }
  return undefined;
}

/** When a caller that found the queue full should retry: half of what waits has been served by then. */
export function retryAfterMs(model: ModelEntry): number | undefined {
  const waitMs = estimatedWaitMs(model, model.queue.levels.length - 1);
  return waitMs === undefined ? undefined : boundedRetryMs(waitMs / 2);
}

/** Callers take turns, so a caller with little waiting does not wait for all the work of others. */
function waitInTurnMs(arrived: ArrivedRequest, model: ModelEntry, level: number): number {
  const { queue } = model;
  const at = queue.levels[level];
  if (at === undefined) return Number.POSITIVE_INFINITY;
  const ownRows = at.rowsOf(arrived.caller) + arrived.rows;
  const inTurn = ownRows * Math.max(1, at.ring.callerCount);
  const urgent = queue.rowsUpTo(level) - at.rowCount;
  return (urgent + inTurn + model.outstandingRows) / rowsPerMsFor(model, level);
}

/** Instances reserved for more urgent requests do not count for this one. */
function rowsPerMsFor(model: ModelEntry, level: number): number {
  if (!model.hasReserved) return model.throughput.rowsPerMs * shareInUse(model);
  let rowsPerMs = 0;
  let takers = 0;
  let measured = 0;
  for (const instance of model.instances) {
    if (!instance.takesLevel(level)) continue;
    takers += 1;
    rowsPerMs += instance.rowsPerMs;
    if (instance.rowsPerMs > 0) measured += 1;
  }
  return measured === 0 ? 0 : ((rowsPerMs * takers) / measured) * shareInUse(model);
}

/** Warm spares run nothing. */
function shareInUse({ policy, instances }: ModelEntry): number {
  return instances.length <= policy.instancesInUseMax ? 1 : policy.instancesInUseMax / instances.length;
}

function boundedRetryMs(ms: number): number {
  return Math.min(Math.max(ms, retryAfterMsMin), retryAfterMsMax);
}
