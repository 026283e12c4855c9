import { copyOf } from '@millrace/protocol';

/** Pieces up to this size share a block: a queue of one-byte pieces must not cost a hundred bytes for each. */
const smallBytes = 1024;
const blockBytes = 4096;

/** Body bytes that arrived before anybody asked for them. They take hardly more memory than they count. */
export class BodyQueue {
  #pieces: Uint8Array[] = [];
  #head = 0;
  #block: Uint8Array | undefined = undefined;
  #blockUsed = 0;
  bytes = 0;

  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.bytes += piece.length;
    if (piece.length <= smallBytes) this.#pushSmall(piece);
    else {
      this.#block = undefined;
      // A view of a much larger buffer would keep that whole buffer alive until it is read.
      this.#pieces.push(piece.length * 2 < piece.buffer.byteLength ? copyOf(piece) : piece);
    }
  }

  take(): Uint8Array | undefined {
    if (this.#head === this.#pieces.length) return undefined;
    const piece = this.#pieces[this.#head] as Uint8Array;
    this.#head++;
    if (this.#head === this.#pieces.length) {
      this.#pieces = [];
      this.#head = 0;
      this.#block = undefined;
    }
    this.bytes -= piece.length;
    return piece;
  }

  clear(): void {
    this.#pieces = [];
    this.#head = 0;
    this.#block = undefined;
    this.bytes = 0;
  }

  #pushSmall(piece: Uint8Array): void {
    if (this.#block !== undefined && this.#blockUsed + piece.length <= this.#block.length) {
      this.#block.set(piece, this.#blockUsed);
      this.#blockUsed += piece.length;
      this.#pieces[this.#pieces.length - 1] = this.#block.subarray(0, this.#blockUsed);
      return;
    }
    // A single small piece is the usual case and gets no block; a second one does.
    if (this.#pieces.length > this.#head && (this.#pieces.at(-1) as Uint8Array).length <= smallBytes) {
      const last = this.#pieces.at(-1) as Uint8Array;
      const block = new Uint8Array(blockBytes);
      block.set(last);
      block.set(piece, last.length);
      this.#block = block;
      this.#blockUsed = last.length + piece.length;
      this.#pieces[this.#pieces.length - 1] = block.subarray(0, this.#blockUsed);
      return;
    }
    this.#block = undefined;
    this.#pieces.push(copyOf(piece));
  }
}
