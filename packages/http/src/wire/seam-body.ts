import {
  BodyAborted,
  type BodyPlacement,
  type BodyReceiver,
  BodyTooLarge,
  type LentBodyReceiver,
  MemoryRefused,
  type RequestBody,
} from '../exchange.ts';
import type { LentBody, ReadTarget } from './body-pool.ts';
import { type BodyLender, ByteGatherer, keptCopyOf } from './byte-gatherer.ts';
import type { WireExchange } from './wire-exchange.ts';

type Waiter = {
  readonly settle: (result: IteratorResult<Uint8Array>) => void;
  readonly fail: (error: unknown) => void;
};

/** The body of a seam request: read whole, or pulled piece by piece so that the client sends at the reader's pace. */
export class SeamBody implements RequestBody {
  readonly #exchange: WireExchange;
  #isTaken: boolean = false;
  /** A piece that arrived before it was asked for. */
  #piece: Uint8Array | undefined = undefined;
  #gathered: ByteGatherer | undefined = undefined;
  #bytesMax = 0;
  /** Bytes of the piece that the application is working on. */
  #lentBytes = 0;
  #isComplete: boolean = false;
  #error: unknown = undefined;
  #receiver: LentBodyReceiver | undefined = undefined;
  #waiter: Waiter | undefined = undefined;

  constructor(exchange: WireExchange) {
    this.#exchange = exchange;
  }

  get lengthBytes(): number | undefined {
    return this.#exchange.lengthBytes;
  }

  readAll(bytesMax: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.giveAll(bytesMax, { onBody: resolve, onBodyFailed: reject });
    });
  }

  giveAll(bytesMax: number, receiver: BodyReceiver): void {
    this.#gatherAll(bytesMax, receiver, undefined, undefined);
  }

  lendAll(bytesMax: number, receiver: LentBodyReceiver, placement?: BodyPlacement): void {
    this.#gatherAll(bytesMax, receiver, this.#exchange, placement);
  }

  #gatherAll(
    bytesMax: number,
    receiver: LentBodyReceiver,
    lender: BodyLender | undefined,
    placement: BodyPlacement | undefined,
  ): void {
    this.#take();
    const declared = this.#exchange.lengthBytes;
    if (declared !== undefined && declared > bytesMax) receiver.onBodyFailed(new BodyTooLarge(bytesMax));
    else if (this.#error !== undefined) receiver.onBodyFailed(this.#error);
    else {
      this.#bytesMax = bytesMax;
      this.#receiver = receiver;
      this.#gathered = new ByteGatherer(declared, this.#exchange.memory, lender, placement);
      this.#exchange.isBodyDue = true;
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
    const piece = this.#piece;
    this.#piece = undefined;
    // The piece taken before has been consumed.
    this.#exchange.memory.give(this.#lentBytes);
    this.#lentBytes = piece?.length ?? 0;
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
    this.#piece = undefined;
    return Promise.resolve({ done: true, value: undefined });
  }

  onLentData(piece: Uint8Array): void {
    const gathered = this.#gathered;
    if (gathered === undefined) this.onData(keptCopyOf(piece));
    else if (this.#hasRoomFor(gathered, piece)) gathered.pushLent(piece);
  }

  readTarget(bytesMax: number): ReadTarget | undefined {
    // What is written is not checked against the limit of the body, only the length that it declares.
    return this.lengthBytes === undefined ? undefined : this.#gathered?.readTarget(bytesMax);
  }

  offsetIn(lent: LentBody): number {
    return this.#gathered?.offsetIn(lent) ?? -1;
  }

  takeWritten(bytes: number, lent: LentBody): boolean {
    const gathered = this.#gathered;
    if (gathered === undefined || gathered.offsetIn(lent) < 0) return false;
    gathered.skipWritten(bytes);
    return true;
  }

  onData(piece: Uint8Array): void {
    const gathered = this.#gathered;
    if (gathered !== undefined) {
      if (this.#hasRoomFor(gathered, piece)) gathered.push(piece);
      return;
    }
    // One piece at a time: the next is asked for when this one has been taken.
    this.#exchange.pause();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter === undefined) this.#piece = piece;
    else {
      this.#lentBytes = piece.length;
      waiter.settle({ done: false, value: piece });
    }
  }

  #hasRoomFor(gathered: ByteGatherer, piece: Uint8Array): boolean {
    if (gathered.bytes + piece.length <= this.#bytesMax) return true;
    this.#failWith(new BodyTooLarge(this.#bytesMax));
    return false;
  }

  onEnd(): void {
    this.#isComplete = true;
    if (this.#gathered !== undefined) this.#giveGathered(this.#gathered);
    this.#waiter?.settle({ done: true, value: undefined });
    this.#waiter = undefined;
  }

  /** At once, except for a body of unknown length with much left to move. */
  #giveGathered(gathered: ByteGatherer): void {
    const receiver = this.#receiver;
    if (receiver === undefined) return;
    if (!gathered.settle()) {
      setImmediate(() => this.#giveGathered(gathered));
      return;
    }
    this.#gathered = undefined;
    this.#receiver = undefined;
    const { bytes, lent, tail } = gathered.takeGathered();
    receiver.onBody(bytes, lent === undefined ? nothingLent : () => lent.release(), tail);
  }

  onAbort(reason: string): void {
    if (!this.#isComplete || this.#receiver !== undefined) this.#failWith(new BodyAborted(reason));
  }

  onRefused(): void {
    this.#failWith(new MemoryRefused());
  }

  #failWith(error: unknown): void {
    this.#gathered?.clear();
    this.#gathered = undefined;
    this.#piece = undefined;
    this.#error = error;
    this.#exchange.pause();
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onBodyFailed(error);
    this.#waiter?.fail(error);
    this.#waiter = undefined;
  }
}

function nothingLent(): void {}
