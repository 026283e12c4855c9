/** The requests that are not answered yet, with the waiters of their callers. */
import type { ArrivedRequest, ModelKey, RequestId } from '@millrace/core';
import type { ValidInferRequest } from './valid-request.ts';
import type { Waiter } from './waiter.ts';

/** A request in the queue or in a batch. The scheduler and the batch use the same object, so that a request allocates only one. */
export class PendingRequest implements ArrivedRequest {
  readonly valid: ValidInferRequest;
  readonly waiter: Waiter;
  readonly arrivedAt: number;
  /** Its id until it is answered, assigned by `PendingRequests`. */
  request: RequestId = -1;
  /** Where its rows begin in its batch. */
  firstRow = 0;
  isWaiting: boolean = true;
  /** Answered or refused: its id may belong to another request by now. */
  hasEnded: boolean = false;
  stopListening: (() => void) | undefined = undefined;

  constructor(valid: ValidInferRequest, waiter: Waiter, arrivedAt: number) {
    this.valid = valid;
    this.waiter = waiter;
    this.arrivedAt = arrivedAt;
  }

  get model(): ModelKey {
    return this.valid.model.key;
  }

  /**
   * The rows that the scheduler counts: 1 for each request of a model that does not share runs, and a full batch for a
   * request that runs alone with more rows than a batch may have. In a batch of several requests they are the engine's rows.
   */
  get rows(): number {
    const { rows, model } = this.valid;
    return rows > model.policy.rowsMax ? model.policy.rowsMax : rows || 1;
  }

  get isAlone(): boolean {
    return this.valid.isAlone;
  }

  get bytes(): number {
    return this.valid.bytes;
  }

  get inputs(): ValidInferRequest['inputs'] {
    return this.valid.inputs;
  }

  get outputs(): readonly number[] {
    return this.valid.outputs;
  }

  get group(): string {
    return this.valid.group;
  }

  get deadlineAt(): number {
    return this.valid.origin.deadlineAt;
  }

  get caller(): string {
    return this.valid.origin.caller;
  }

  get priority(): number {
    return this.valid.origin.priority;
  }

  get queueTimeoutMs(): number {
    return this.valid.origin.queueTimeoutMs;
  }
}

/** Told how many requests are pending. */
export interface PendingObserver {
  added(count: number): void;
  removed(count: number): void;
}

/** By id. Ids are positions in a list and reused at once; the scheduler's RequestTable says why this is not a Map. */
export class PendingRequests {
  readonly #byId: (PendingRequest | undefined)[] = [];
  readonly #free: RequestId[] = [];
  readonly #observer: PendingObserver | undefined;

  constructor(observer?: PendingObserver) {
    this.#observer = observer;
  }

  add(pending: PendingRequest): void {
    pending.request = this.#free.pop() ?? this.#byId.length;
    this.#byId[pending.request] = pending;
    this.#observer?.added(this.#byId.length - this.#free.length);
  }

  mustGet(id: RequestId): PendingRequest {
    const pending = this.#byId[id];
    if (pending === undefined) throw new Error(`request ${id} is not pending`);
    return pending;
  }

  /** To be called when the request is answered or refused. */
  remove(id: RequestId): PendingRequest {
    const pending = this.mustGet(id);
    this.#byId[id] = undefined;
    this.#free.push(id);
    pending.hasEnded = true;
    pending.stopListening?.();
    this.#observer?.removed(this.#byId.length - this.#free.length);
    return pending;
  }
}
