/** One direction of a connection through the chaos proxy: in order, as late and as slow as it is told, with a bounded buffer. */
import type { Socket } from 'node:net';

export interface ChaosClock {
  /** Milliseconds that only go forward. */
  now(): number;
  /** Returns a function that cancels. */
  after(ms: number, call: () => void): () => void;
}

export interface Shaping {
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Undefined: as fast as it comes. */
  readonly bytesPerSecond: number | undefined;
}

export const noShaping: Shaping = { delayMs: 0, jitterMs: 0, bytesPerSecond: undefined };

export interface DirectionParts {
  readonly clock: ChaosClock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Above this the sender is no longer read: its system makes it wait. */
  readonly bufferedBytesMax: number;
}

/** A limited direction sends pieces of so many milliseconds, so that it flows instead of coming in lumps. */
const pieceMs = 50;

export class ChaosDirection {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #parts: DirectionParts;
  /** Without bytes: the end of what the sender sends. */
  readonly #queue: { readonly at: number; bytes: Uint8Array | undefined }[] = [];
  #shaping = noShaping;
  #buffered = 0;
  #passed = 0;
  #isHeld: boolean = false;
  #isDead: boolean = false;
  #isFull: boolean = false;
  #awaitsDrain: boolean = false;
  /** Before this, the bandwidth is used up. */
  #freeAt = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(from: Socket, to: Socket, parts: DirectionParts) {
    this.#from = from;
    this.#to = to;
    this.#parts = parts;
    from.on('data', (bytes: Uint8Array) => this.#take(bytes));
    from.once('end', () => this.#take(undefined));
    to.on('drain', () => {
      this.#awaitsDrain = false;
      this.#pump();
    });
  }

  /** How many bytes have passed. */
  get passedBytes(): number {
    return this.#passed;
  }

  get bufferedBytes(): number {
    return this.#buffered;
  }

  /** Bytes that wait keep their delay, unless there is none any more. */
  shape(shaping: Shaping): void {
    this.#shaping = shaping;
    if (shaping.bytesPerSecond === undefined) this.#freeAt = 0;
    if (shaping.delayMs + shaping.jitterMs === 0) {
      for (const [index, { bytes }] of this.#queue.entries()) this.#queue[index] = { at: 0, bytes };
    }
    this.#pump();
  }

  /** While it is held nothing passes, and nothing is lost. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#pump();
  }

  /** Nothing passes any more, not even the end; what comes is dropped. */
  kill(): void {
    this.#isDead = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#queue.length = 0;
    this.#buffered = 0;
    // It is read on, so that its end is noticed.
    this.#isFull = false;
    this.#from.resume();
  }

  #take(bytes: Uint8Array | undefined): void {
    if (this.#isDead) return;
    const { clock, random, bufferedBytesMax } = this.#parts;
    const { delayMs, jitterMs } = this.#shaping;
    this.#queue.push({ at: clock.now() + delayMs + random() * jitterMs, bytes });
    this.#buffered += bytes?.length ?? 0;
    if (this.#buffered >= bufferedBytesMax && !this.#isFull) {
      this.#isFull = true;
      this.#from.pause();
    }
    this.#pump();
  }

  #pump(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    while (!this.#isHeld && !this.#isDead && !this.#awaitsDrain) {
      const [head] = this.#queue;
      if (head === undefined) return;
      const now = this.#parts.clock.now();
      const at = Math.max(head.at, this.#freeAt);
      if (at > now) {
        this.#cancelTimer = this.#parts.clock.after(at - now, () => this.#pump());
        return;
      }
      this.#send(head, now);
    }
  }

  #send(head: { bytes: Uint8Array | undefined }, now: number): void {
    const { bytes } = head;
    if (bytes === undefined) {
      this.#queue.shift();
      this.#to.end();
      return;
    }
    const piece = this.#pieceOf(bytes, now);
    if (piece.length === bytes.length) this.#queue.shift();
    else head.bytes = bytes.subarray(piece.length);
    this.#buffered -= piece.length;
    this.#passed += piece.length;
    if (this.#isFull && this.#buffered * 2 <= this.#parts.bufferedBytesMax) {
      this.#isFull = false;
      this.#from.resume();
    }
    // What is written to a socket that was destroyed is dropped; its link ends.
    if (!this.#to.destroyed && !this.#to.write(piece)) this.#awaitsDrain = true;
  }

  #pieceOf(bytes: Uint8Array, now: number): Uint8Array {
    const { bytesPerSecond } = this.#shaping;
    if (bytesPerSecond === undefined) return bytes;
    const piece = bytes.subarray(0, Math.max(1, Math.floor((bytesPerSecond * pieceMs) / 1000)));
    this.#freeAt = now + (piece.length / bytesPerSecond) * 1000;
    return piece;
  }
}
