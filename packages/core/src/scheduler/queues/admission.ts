/** Whether a request may wait. Called for every request, so it only compares; refusals.ts has the messages. */
import type { ArrivedRequest } from '../../events.ts';
import { hasRoom } from '../instances/instance-choice.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { Refusal } from '../requests/refusal.ts';
import {
  callerFullRefusal,
  callerShareRefusal,
  expiredRefusal,
  levelFullRefusal,
  queueBytesRefusal,
  queueFullRefusal,
  retiredRefusal,
  serverBytesRefusal,
  serverFullRefusal,
  tooManyBytesRefusal,
  tooManyRowsRefusal,
  unservedRefusal,
} from '../requests/refusals.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import type { CallerCount } from './caller-counts.ts';
import { isWithinShare } from './queue-share.ts';
import { waitRefusal } from './wait-estimate.ts';

/** Waiting requests and bytes of all queues together. */
interface WaitingTotals {
  readonly requestCount: number;
  readonly byteCount: number;
}

export interface AdmissionParts {
  readonly totals: WaitingTotals;
  readonly config: SchedulerConfig;
  /** Expires requests and dispatches batches that are due, before a request is refused. */
  readonly makeRoom: (nowMs: number) => void;
}

export class Admission {
  readonly #totals: WaitingTotals;
  readonly #config: SchedulerConfig;
  readonly #makeRoom: (nowMs: number) => void;

  constructor({ totals, config, makeRoom }: AdmissionParts) {
    this.#totals = totals;
    this.#config = config;
    this.#makeRoom = makeRoom;
  }

  /** Why the request is refused; undefined: it is admitted. `level` counts from 0. */
  refusalOf(
    arrived: ArrivedRequest,
    model: ModelEntry,
    level: number,
    caller: CallerCount,
    nowMs: number,
  ): Refusal | undefined {
    const hopeless = this.#hopelessRefusal(arrived, model, nowMs);
    if (hopeless !== undefined) return hopeless;
    if (this.#refusalNow(arrived, model, level, caller, nowMs) === undefined) return undefined;
    // It is full, or the wait too long, only if expiring and dispatching do not help: a burst within one
    // turn may be larger than a queue while workers are idle.
    this.#makeRoom(nowMs);
    const refusal = this.#refusalNow(arrived, model, level, caller, nowMs);
    return refusal?.code === 'wait-too-long' && hasRoom(model, arrived.priority) ? undefined : refusal;
  }

  #refusalNow(
    arrived: ArrivedRequest,
    model: ModelEntry,
    level: number,
    caller: CallerCount,
    nowMs: number,
  ): Refusal | undefined {
    return this.#fullRefusal(arrived, model, level, caller) ?? waitRefusal(arrived, model, nowMs);
  }

  /** Refuses a request that could not wait even in an empty queue; undefined when it may wait, if there is room. */
  #hopelessRefusal(arrived: ArrivedRequest, model: ModelEntry, nowMs: number): Refusal | undefined {
    const { rowsMax, queueBytesMax } = model.policy;
    const { waitingBytesMax } = this.#config;
    const { bytes } = arrived;
    if (model.isRemoved) return unservedRefusal(model.key);
    if (model.isRetired) return retiredRefusal(model);
    if (arrived.rows > rowsMax) return tooManyRowsRefusal(arrived, model);
    if (bytes > queueBytesMax || bytes > waitingBytesMax) {
      return tooManyBytesRefusal(arrived, Math.min(queueBytesMax, waitingBytesMax), model);
    }
    if (arrived.deadlineAt <= nowMs) return expiredRefusal('before the request arrived');
    return undefined;
  }

  /** Refuses a request for which there is no room now. */
  #fullRefusal(arrived: ArrivedRequest, model: ModelEntry, level: number, caller: CallerCount): Refusal | undefined {
    const { queue, policy } = model;
    const { requestCount, byteCount } = this.#totals;
    const { waitingRequestsMax, waitingBytesMax, callerRequestsMax } = this.#config;
    const { bytes } = arrived;
    if (queue.requestCount >= policy.queueRequestsMax) return queueFullRefusal(model);
    if ((queue.levels[level]?.requestCount ?? 0) >= (policy.queues[level]?.requestsMax ?? 0)) {
      return levelFullRefusal(model, level);
    }
    if (queue.byteCount + bytes > policy.queueBytesMax) return queueBytesRefusal(arrived, model);
    if (model.limitsCallers && !isWithinShare(caller.name, model, level)) return callerShareRefusal(arrived, model);
    if (caller.waitingRequests >= callerRequestsMax && caller.name !== '') return callerFullRefusal(caller, model);
    if (requestCount >= waitingRequestsMax) return serverFullRefusal(requestCount, model);
    if (byteCount + bytes > waitingBytesMax) return serverBytesRefusal(arrived, byteCount, waitingBytesMax, model);
    return undefined;
  }
}
