/**
 * The messages of a streaming caller, as an async iterable or, faster, by plain calls; a handler uses one of the two.
 */
import type { RpcError } from './rpc-error.ts';

export interface RequestListener<I> {
  /**
   * A message of this many bytes. Unless the listener keeps messages, it must be finished with it when this returns.
   */
  onMessage(message: I, bytes: number): void;
  /** The listener keeps messages, and calls `done` when it is finished with one. */
  readonly keepsMessages?: boolean;
  /** The caller has sent its last message. Not called when the caller disconnects: the call's signal says so. */
  onEnd(): void;
}

/** Pauses and resumes the caller. */
export interface RequestFlow {
  pauseRequests(): void;
  resumeRequests(): void;
  /** Releases the memory of this many bytes. */
  give(bytes: number): void;
}

interface Waiter<I> {
  settle(result: IteratorResult<I>): void;
  fail(error: RpcError): void;
}

export interface WaitingLimits {
  readonly waitingMessagesMax: number;
  readonly waitingBytesMax: number;
}

interface WaitingMessage<I> {
  readonly message: I;
  readonly bytes: number;
}

export class RequestStream<I> implements AsyncIterable<I> {
  readonly #flow: RequestFlow;
  readonly #limits: WaitingLimits;
  /** Undefined while none wait: mostly they are delivered at once. */
  #waiting: WaitingMessage<I>[] | undefined = undefined;
  #waitingBytes = 0;
  /** Bytes of the message that the iterator returned last. */
  #lentBytes = 0;
  #listener: RequestListener<I> | undefined = undefined;
  #waiter: Waiter<I> | undefined = undefined;
  #isComplete: boolean = false;
  #isPaused: boolean = false;
  #error: RpcError | undefined = undefined;

  constructor(flow: RequestFlow, limits: WaitingLimits) {
    this.#flow = flow;
    this.#limits = limits;
  }

  /** Delivers every message by a plain call, beginning with those that wait. */
  listen(listener: RequestListener<I>): void {
    this.#listener = listener;
    this.#deliver();
  }

  /** Pauses the caller; messages that have arrived wait. */
  pause(): void {
    this.#isPaused = true;
    this.#flow.pauseRequests();
  }

  resume(): void {
    this.#isPaused = false;
    this.#deliver();
    if (!this.#isPaused) this.#flow.resumeRequests();
  }

  /** For a listener that keeps messages: it is finished with one of this many bytes. */
  done(bytes: number): void {
    this.#flow.give(bytes);
  }

  [Symbol.asyncIterator](): AsyncIterator<I> {
    return { next: () => this.#next(), return: () => this.#abandon() };
  }

  /** For the call: a message of this many bytes arrived. */
  accept(message: I, bytes: number): void {
    const waiter = this.#waiter;
    if (waiter !== undefined) {
      this.#waiter = undefined;
      this.#lentBytes = bytes;
      waiter.settle({ done: false, value: message });
    } else if (this.#listener !== undefined && !this.#isPaused) this.#tell(this.#listener, message, bytes);
    else {
      this.#waiting ??= [];
      this.#waiting.push({ message, bytes });
      this.#waitingBytes += bytes;
      const { waitingMessagesMax, waitingBytesMax } = this.#limits;
      const isFull = this.#waiting.length >= waitingMessagesMax || this.#waitingBytes >= waitingBytesMax;
      if (isFull) this.#flow.pauseRequests();
    }
  }

  /** For the call: there will be no more. */
  acceptEnd(): void {
    this.#isComplete = true;
    this.#waiter?.settle({ done: true, value: undefined });
    this.#waiter = undefined;
    if (!this.#isPaused && this.#waiting === undefined) this.#listener?.onEnd();
  }

  /** For the call: it ended before its messages did. */
  acceptError(error: RpcError): void {
    if (this.#isComplete || this.#error !== undefined) return;
    this.#error = error;
    this.#waiter?.fail(error);
    this.#waiter = undefined;
  }

  #takeWaiting(): WaitingMessage<I> | undefined {
    const next = this.#waiting?.shift();
    if (next === undefined) return undefined;
    this.#waitingBytes -= next.bytes;
    if (this.#waiting?.length === 0) this.#waiting = undefined;
    return next;
  }

  #deliver(): void {
    const listener = this.#listener;
    if (listener === undefined) return;
    while (!this.#isPaused) {
      const next = this.#takeWaiting();
      if (next === undefined) break;
      this.#tell(listener, next.message, next.bytes);
    }
    if (this.#isComplete && !this.#isPaused && this.#waiting === undefined) listener.onEnd();
    else if (!this.#isPaused) this.#flow.resumeRequests();
  }

  #tell(listener: RequestListener<I>, message: I, bytes: number): void {
    listener.onMessage(message, bytes);
    if (listener.keepsMessages !== true) this.#flow.give(bytes);
  }

  #next(): Promise<IteratorResult<I>> {
    // Asking for the next message means being finished with the one before.
    this.#flow.give(this.#lentBytes);
    this.#lentBytes = 0;
    const next = this.#takeWaiting();
    if (next !== undefined) {
      this.#lentBytes = next.bytes;
      if (this.#waiting === undefined) this.#flow.resumeRequests();
      return Promise.resolve({ done: false, value: next.message });
    }
    if (this.#isComplete) return Promise.resolve({ done: true, value: undefined });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return new Promise((settle, fail) => {
      this.#waiter = { settle, fail };
      this.#flow.resumeRequests();
    });
  }

  /** The handler wants no more: what still arrives is discarded. */
  #abandon(): Promise<IteratorResult<I>> {
    this.#waiting = undefined;
    this.#waitingBytes = 0;
    this.#isComplete = true;
    this.#listener = { onMessage: () => {}, onEnd: () => {} };
    this.#flow.resumeRequests();
    return Promise.resolve({ done: true, value: undefined });
  }
}
