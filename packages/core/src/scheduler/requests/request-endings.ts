/** How requests end: refused, or abandoned wherever they are; and the effect on answers that waited for them. */
import type { RequestId } from '../../events.ts';
import type { QueuePolicy } from '../../model-policy.ts';
import type { ActionList } from '../action-list.ts';
import type { Dispatcher } from '../dispatcher.ts';
import type { ModelEntry } from '../models/model-entry.ts';
import type { Refusal } from './refusal.ts';
import { expiredRefusal, queueTimeoutRefusal } from './refusals.ts';
import type { RequestEntry } from './request-entry.ts';
import type { RequestTable } from './request-table.ts';

export class RequestEndings {
  readonly #actions: ActionList;
  readonly #requests: RequestTable;
  readonly #dispatcher: Dispatcher;

  constructor(actions: ActionList, requests: RequestTable, dispatcher: Dispatcher) {
    this.#actions = actions;
    this.#requests = requests;
    this.#dispatcher = dispatcher;
  }

  /** Its deadline has passed. */
  expired(entry: RequestEntry): void {
    const isHeld = entry.answeredIn !== 0;
    const when = isHeld ? 'while the answer waited for earlier ones' : 'while the request ran';
    this.abandon(entry, expiredRefusal(entry.isWaiting ? 'while the request waited' : when));
  }

  /** Its queue timeout has passed. */
  waitedTooLong(entry: RequestEntry): void {
    const { timeoutAction } = entry.model.policy.queues[entry.level] as QueuePolicy;
    if (timeoutAction === 'delay') {
      this.#requests.delay(entry);
      this.#dispatcher.reviewHold(entry.model);
    } else {
      this.abandon(entry, queueTimeoutRefusal(entry));
    }
  }

  /** Nobody waits for the request any more, wherever it is. */
  abandon(entry: RequestEntry, refusal: Refusal): void {
    const { batch } = entry;
    if (entry.isWaiting) {
      this.#requests.leaveQueue(entry);
      this.#dispatcher.reviewHold(entry.model);
    } else if (batch !== undefined) {
      batch.leave(entry);
      // The batch stays assigned to its worker until the worker reports on it.
      if (batch.liveCount === 0) {
        this.#actions.add({ kind: 'cancel-batch', batch: batch.id, worker: batch.worker.worker });
      }
    }
    this.end(entry, refusal);
  }

  /** Refuses a request that is in no queue and no batch. Answers that waited for it are delivered. */
  end(entry: RequestEntry, refusal: Refusal): void {
    this.#requests.settle(entry);
    this.refuse(entry.request, refusal);
    const { answerOrder } = entry.model;
    if (!answerOrder.has(entry)) return;
    answerOrder.remove(entry);
    this.deliverInOrder(entry.model);
  }

  /** Delivers what is answered already and waited only for earlier requests. */
  deliverInOrder(model: ModelEntry): void {
    model.answerOrder.flush(this.#actions, (entry) => this.#requests.settle(entry));
  }

  refuse(request: RequestId, refusal: Refusal): void {
    const { code, message, retryAfterMs, hasKilledWorker } = refusal;
    if (hasKilledWorker === true) this.#actions.add({ kind: 'refuse', request, code, message, hasKilledWorker });
    else if (retryAfterMs === undefined) this.#actions.add({ kind: 'refuse', request, code, message });
    else this.#actions.add({ kind: 'refuse', request, code, message, retryAfterMs });
  }
}
