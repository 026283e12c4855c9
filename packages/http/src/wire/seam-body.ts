import { BodyAborted, BodyTooLarge, type RequestBody } from '../exchange.ts';
import type { WireExchange } from './wire-exchange.ts';

type Waiter = { readonly settle: (result: IteratorResult<Uint8Array>) => void; readonly fail: (error: Error) => void };

/** The body of a seam request: read whole, or pulled piece by piece so that the client is held to the reader's pace. */
export class SeamBody implements RequestBody {
  readonly #exchange: WireExchange;
  #isTaken: boolean = false;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #bytesMax = 0;
  #isComplete: boolean = false;
  #error: Error | undefined = undefined;
  #onWhole: ((body: Uint8Array) => void) | undefined = undefined;
  #onFailed: ((error: Error) => void) | undefined = undefined;
  #waiter: Waiter | undefined = undefined;

  constructor(exchange: WireExchange) {
    this.#exchange = exchange;
  }

  get lengthBytes(): number | undefined {
    return this.#exchange.lengthBytes;
  }

  readAll(bytesMax: number): Promise<Uint8Array> {
    this.#take();
    const declared = this.#exchange.lengthBytes;
    if (declared !== undefined && declared > bytesMax) return Promise.reject(new BodyTooLarge(bytesMax));
    this.#bytesMax = bytesMax;
    return new Promise<Uint8Array>((resolve, reject) => {
      this.#onWhole = resolve;
      this.#onFailed = reject;
      if (this.#error !== undefined) reject(this.#error);
      else this.#exchange.resume();
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#take();
    return { next: () => this.#next(), return: () => this.#abandon() };
  }

  #take(): void {
    if (this.#isTaken) throw new TypeError('a request body can be read once; keep what the first read returned');
    this.#isTaken = true;
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    const piece = this.#pieces.shift();
    if (piece !== undefined) return Promise.resolve({ done: false, value: piece });
    if (this.#isComplete) return Promise.resolve({ done: true, value: undefined });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    return new Promise((settle, fail) => {
      this.#waiter = { settle, fail };
      this.#exchange.resume();
    });
  }

  #abandon(): Promise<IteratorResult<Uint8Array>> {
    this.#isComplete = true;
    this.#pieces = [];
    return Promise.resolve({ done: true, value: undefined });
  }

  onData(piece: Uint8Array): void {
    if (this.#onWhole !== undefined) {
      this.#bytes += piece.length;
      if (this.#bytes <= this.#bytesMax) this.#pieces.push(piece);
      else this.#failWith(new BodyTooLarge(this.#bytesMax));
      return;
    }
    // One piece at a time: the next is asked for when this one has been taken.
    this.#exchange.pause();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter !== undefined) waiter.settle({ done: false, value: piece });
    else this.#pieces.push(piece);
  }

  onEnd(): void {
    this.#isComplete = true;
    const onWhole = this.#onWhole;
    if (onWhole !== undefined) {
      const pieces = this.#pieces;
      this.#pieces = [];
      onWhole(pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, this.#bytes));
    }
    this.#waiter?.settle({ done: true, value: undefined });
    this.#waiter = undefined;
  }

  onAbort(reason: string): void {
    if (!this.#isComplete) this.#failWith(new BodyAborted(reason));
  }

  #failWith(error: Error): void {
    this.#pieces = [];
    this.#error = error;
    this.#exchange.pause();
    this.#onWhole = undefined;
    this.#onFailed?.(error);
    this.#waiter?.fail(error);
    this.#waiter = undefined;
  }
}
