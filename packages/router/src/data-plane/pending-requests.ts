/** The requests that are not answered yet, and what their callers wait on. */
import type { RequestId } from '@millrace/core';
import type { InferenceError } from '@millrace/protocol';
import type { ModelObserver } from '../telemetry/observer.ts';
import type { InferAnswer } from './infer.ts';
import type { ValidInferRequest } from './valid-request.ts';

export interface PendingRequest {
  readonly request: ValidInferRequest;
  readonly observer: ModelObserver;
  readonly resolve: (answer: InferAnswer) => void;
  readonly reject: (error: InferenceError) => void;
  readonly arrivedAt: number;
  isWaiting: boolean;
  /** Answered or refused: its id may belong to another request by now. */
  hasEnded: boolean;
  stopListening: (() => void) | undefined;
}

/** By id. Ids are places in a list and used again at once; the scheduler's RequestTable says why this is no Map. */
export class PendingRequests {
  readonly #places: (PendingRequest | undefined)[] = [];
  readonly #free: RequestId[] = [];

  add(pending: PendingRequest): RequestId {
    const id = this.#free.pop() ?? this.#places.length;
    this.#places[id] = pending;
    return id;
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
