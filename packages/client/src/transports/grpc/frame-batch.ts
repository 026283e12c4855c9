/** Frames of one connection, collected until the end of the turn and written at once. Large payloads are passed on without a copy. */
import type { FrameOutput } from '@millrace/http2';

const slabBytes = 65_536;
/** Payloads up to this size are copied behind their frame header: cheaper than a piece of their own. */
const copiedBytesMax = 4096;

export class FrameBatch implements FrameOutput {
  bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #pieces: Uint8Array[] = [];
  #isQueued: boolean = false;
  readonly #write: (pieces: readonly Uint8Array[]) => void;

  constructor(write: (pieces: readonly Uint8Array[]) => void) {
    this.#write = write;
  }

  /** The offset in `bytes` of so many bytes, which are sent with the turn. */
  reserve(count: number): number {
    if (this.#end + count > this.bytes.length) {
      this.#cut();
      // What was written refers to the old one; nothing of it is written over.
      this.bytes = Buffer.allocUnsafeSlow(Math.max(slabBytes, count));
      this.#start = 0;
      this.#end = 0;
    }
    const offset = this.#end;
    this.#end += count;
    this.#queue();
    return offset;
  }

  /** Gives back what the last `reserve` did not need. */
  trim(offset: number): void {
    this.#end = offset;
  }

  append(payload: Uint8Array): void {
    if (payload.length <= copiedBytesMax) {
      const offset = this.reserve(payload.length);
      this.bytes.set(payload, offset);
      return;
    }
    this.#cut();
    this.#pieces.push(payload);
    this.#queue();
  }

  #cut(): void {
    if (this.#end > this.#start) this.#pieces.push(this.bytes.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }

  #queue(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isQueued = false;
    this.#cut();
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    this.#write(pieces);
  };
}
