import { BodyAborted, type BodyReceiver, BodyTooLarge, type RequestBody } from '../exchange.ts';
import type { WireExchange } from './wire-exchange.ts';

const noBytes = new Uint8Array(0);

type Waiter = {
  readonly settle: (result: IteratorResult<Uint8Array>) => void;
  readonly fail: (error: unknown) => void;
};

/** The body of a seam request: read whole, or pulled piece by piece so that the client is held to the reader's pace. */
export class SeamBody implements RequestBody {
  readonly #exchange: WireExchange;
  #isTaken: boolean = false;
  /** The first piece, which is mostly the only one. */
  #first: Uint8Array | undefined = undefined;
  #pieces: Uint8Array[] | undefined = undefined;
  #bytes = 0;
  #bytesMax = 0;
  #isComplete: boolean = false;
  #error: unknown = undefined;
  #receiver: BodyReceiver | undefined = undefined;
  #waiter: Waiter | undefined = undefined;

  constructor(exchange: WireExchange) {
    this.#exchange = exchange;
  }

  get lengthBytes(): number | undefined {
    return this.#exchange.lengthBytes;
  }

  readAll(bytesMax: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.giveAll(bytesMax, { onBodyBytes: () => {}, onBody: resolve, onBodyFailed: reject });
    });
  }

  giveAll(bytesMax: number, receiver: BodyReceiver): void {
    this.#take();
    const declared = this.#exchange.lengthBytes;
    if (declared !== undefined && declared > bytesMax) receiver.onBodyFailed(new BodyTooLarge(bytesMax));
    else if (this.#error !== undefined) receiver.onBodyFailed(this.#error);
    else {
      this.#bytesMax = bytesMax;
      this.#receiver = receiver;
      this.#exchange.resume();
    }
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
    const piece = this.#first;
    this.#first = this.#pieces?.shift();
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
    this.#forget();
    return Promise.resolve({ done: true, value: undefined });
  }

  onData(piece: Uint8Array): void {
    if (this.#receiver !== undefined) {
      this.#gather(this.#receiver, piece);
      return;
    }
    // One piece at a time: the next is asked for when this one has been taken.
    this.#exchange.pause();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter !== undefined) waiter.settle({ done: false, value: piece });
    else this.#keep(piece);
  }

  #gather(receiver: BodyReceiver, piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax) {
      this.#failWith(new BodyTooLarge(this.#bytesMax));
      return;
    }
    try {
      receiver.onBodyBytes(piece.length);
    } catch (error) {
      this.#failWith(error);
      return;
    }
    this.#keep(piece);
  }

  #keep(piece: Uint8Array): void {
    if (this.#first === undefined) this.#first = piece;
    else {
      this.#pieces ??= [];
      this.#pieces.push(piece);
    }
  }

  #forget(): void {
    this.#first = undefined;
    this.#pieces = undefined;
  }

  onEnd(): void {
    this.#isComplete = true;
    const receiver = this.#receiver;
    if (receiver !== undefined) {
      const first = this.#first ?? noBytes;
      const pieces = this.#pieces;
      this.#forget();
      receiver.onBody(pieces === undefined ? first : Buffer.concat([first, ...pieces], this.#bytes));
    }
    this.#waiter?.settle({ done: true, value: undefined });
    this.#waiter = undefined;
  }

  onAbort(reason: string): void {
    if (!this.#isComplete) this.#failWith(new BodyAborted(reason));
  }

  #failWith(error: unknown): void {
    this.#forget();
    this.#error = error;
    this.#exchange.pause();
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onBodyFailed(error);
    this.#waiter?.fail(error);
    this.#waiter = undefined;
  }
}
