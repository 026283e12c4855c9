/** Whether a request may wait. Asked of every request, so it is nothing but comparisons: refusals.ts has the words. */
import type { ArrivedRequest } from '../events.ts';
import type { CallerCount } from './caller-counts.ts';
import type { ModelEntry } from './model-entry.ts';
import type { Refusal } from './refusal.ts';
import {
  callerFullRefusal,
  expiredRefusal,
  levelFullRefusal,
  queueBytesRefusal,
  queueFullRefusal,
  removedRefusal,
  serverBytesRefusal,
  serverFullRefusal,
  tooManyBytesRefusal,
  tooManyRowsRefusal,
} from './refusals.ts';
import type { SchedulerConfig } from './scheduler-config.ts';

/** What waits in all queues together. */
export interface WaitingTotals {
  readonly requestCount: number;
  readonly byteCount: number;
}

/** Refuses a request that no free place could help; undefined when it may wait, if there is room. */
export function hopelessRefusal(
  arrived: ArrivedRequest,
  model: ModelEntry,
  config: SchedulerConfig,
  nowMs: number,
): Refusal | undefined {
  const { policy } = model;
  const { bytes } = arrived;
  if (model.isRemoved || model.isRetired) return removedRefusal(model);
  if (arrived.rows > policy.rowsMax) return tooManyRowsRefusal(arrived, model);
  if (bytes > policy.queueBytesMax || bytes > config.waitingBytesMax) {
    return tooManyBytesRefusal(arrived, Math.min(policy.queueBytesMax, config.waitingBytesMax), model);
  }
  if (arrived.deadlineAt <= nowMs) return expiredRefusal('before the request came');
  return undefined;
}

/** Refuses a request for which there is no room now. `level` counts from 0. */
export function fullRefusal(
  arrived: ArrivedRequest,
  model: ModelEntry,
  level: number,
  caller: CallerCount,
  totals: WaitingTotals,
  config: SchedulerConfig,
): Refusal | undefined {
  const { queue, policy } = model;
  const { bytes } = arrived;
  if (queue.requestCount >= policy.queueRequestsMax) return queueFullRefusal(model);
  if ((queue.levels[level]?.requestCount ?? 0) >= (policy.queues[level]?.requestsMax ?? 0)) {
    return levelFullRefusal(model, level);
  }
  if (queue.byteCount + bytes > policy.queueBytesMax) return queueBytesRefusal(arrived, model);
  if (caller.waitingRequests >= config.callerRequestsMax && caller.name !== '') return callerFullRefusal(caller, model);
  if (totals.requestCount >= config.waitingRequestsMax) return serverFullRefusal(totals.requestCount, model);
  if (totals.byteCount + bytes > config.waitingBytesMax) {
    return serverBytesRefusal(arrived, totals.byteCount, config.waitingBytesMax, model);
  }
  return undefined;
}
