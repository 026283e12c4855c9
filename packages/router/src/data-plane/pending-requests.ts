/** The requests that are not answered yet, and what their callers wait on. */
import type { ArrivedRequest, ModelKey, RequestId } from '@millrace/core';
import type { ValidInferRequest } from './valid-request.ts';
import type { Waiter } from './waiter.ts';

/** A request in the queue or in a batch. The scheduler and the batch read it as it is: one object a request serves all. */
export class PendingRequest implements ArrivedRequest {
  readonly valid: ValidInferRequest;
  readonly waiter: Waiter;
  readonly arrivedAt: number;
  /** Its id while it is not answered, given by `PendingRequests`. */
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
   * As many as the scheduler counts: of a model that does not share runs each request is one, and one that runs alone
   * with more rows than a batch may have fills a batch. In a batch of several requests they are the engine's rows.
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

/** By id. Ids are places in a list and used again at once; the scheduler's RequestTable says why this is no Map. */
export class PendingRequests {
  readonly #places: (PendingRequest | undefined)[] = [];
  readonly #free: RequestId[] = [];

  add(pending: PendingRequest): void {
    pending.request = this.#free.pop() ?? this.#places.length;
    this.#places[pending.request] = pending;
  }

  mustGet(id: RequestId): PendingRequest {
    const pending = this.#places[id];
    if (pending === undefined) throw new Error(`request ${id} is not pending`);
    return pending;
  }

  /** Its one answer is at hand. */
  remove(id: RequestId): PendingRequest {
    const pending = this.mustGet(id);
    this.#places[id] = undefined;
    this.#free.push(id);
    pending.hasEnded = true;
    pending.stopListening?.();
    return pending;
  }
}
