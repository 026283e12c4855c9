/** Connections to one server that repeat one request: every answer is followed by the next request until the slice is over. */
import type { Socket } from 'node:net';
import { median, quantile } from '../statistics.ts';

export interface SliceCounts {
  readonly answered: number;
  readonly wrong: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /** Median time from a request to its answer; only where one request was in flight at a time. */
  readonly p50Ms?: number;
  /** The same of the slowest in a hundred. */
  readonly p99Ms?: number;
}

/** A protocol sends in `sendFirst`, reports each request and answer, and sends again while `onAnswer` says so. */
export abstract class ClosedLoop {
  #settle: { resolve: (counts: SliceCounts) => void; reject: (error: Error) => void } | undefined;
  #failure: Error | undefined;
  #begin = 0;
  #end = 0;
  #inFlight = 0;
  #answered = 0;
  #wrong = 0;
  #sentAt = 0;
  #isAlone: boolean = true;
  #latenciesMs: number[] = [];

  /** Sends requests for this long, then waits for the answers still in flight. Connections stay open for the next slice. */
  run(ms: number): Promise<SliceCounts> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      if (this.#failure !== undefined) return reject(this.#failure);
      this.#begin = performance.now();
      this.#end = this.#begin + ms;
      this.#answered = 0;
      this.#wrong = 0;
      this.#isAlone = true;
      this.#latenciesMs = [];
      this.sendFirst();
    });
  }

  abstract close(): void;

  protected abstract sendFirst(): void;

  protected onSent(): void {
    this.#inFlight += 1;
    if (this.#inFlight > 1) this.#isAlone = false;
    else if (this.#isAlone) this.#sentAt = performance.now();
  }

  /** Whether the next request is to be sent. */
  protected onAnswer(isRight: boolean): boolean {
    const now = performance.now();
    this.#inFlight -= 1;
    this.#answered += 1;
    if (!isRight) this.#wrong += 1;
    if (this.#isAlone) this.#latenciesMs.push(now - this.#sentAt);
    if (now < this.#end) return true;
    if (this.#inFlight === 0) this.#settle?.resolve(this.#counts((now - this.#begin) / 1000));
    return false;
  }

  #counts(seconds: number): SliceCounts {
    const counts = { answered: this.#answered, wrong: this.#wrong, seconds };
    if (!this.#isAlone) return counts;
    return { ...counts, p50Ms: median(this.#latenciesMs), p99Ms: quantile(this.#latenciesMs, 0.99) };
  }

  /** A connection that ends fails this slice, or the next one. */
  protected watch(socket: Socket): void {
    const fail = (error: Error): void => {
      this.#failure ??= error;
      this.#settle?.reject(error);
    };
    socket.once('error', fail);
    socket.once('close', () => fail(new Error('the server closed a connection')));
  }
}
