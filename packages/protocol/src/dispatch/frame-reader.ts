import { copyOf } from '../copy-of.ts';
import { frameAlignmentBytes, frameBytesMaxDefault, frameHeaderBytes, MalformedFrame } from './frame-layout.ts';

/**
 * Splits a stream of bytes into frames, however it was cut. A frame returned begins at a multiple of 8 in its
 * buffer and stays intact for as long as it is held: a frame that arrived whole is a view of the chunk, so a chunk
 * belongs to the reader once it was pushed.
 */
export class DispatchFrameReader {
  readonly #onFrame: (frame: Uint8Array) => void;
  readonly #frameBytesMax: number;
  readonly #header = new Uint8Array(frameHeaderBytes);
  #headerFilled = 0;
  #frame: Uint8Array | undefined;
  #frameFilled = 0;

  constructor(onFrame: (frame: Uint8Array) => void, frameBytesMax: number = frameBytesMaxDefault) {
    this.#onFrame = onFrame;
    this.#frameBytesMax = frameBytesMax;
  }

  /** Throws a `MalformedFrame` when a length is invalid; nothing more can be read after that. */
  push(bytes: Uint8Array): void {
    // Sockets deliver Buffers, whose views are Buffers too and take half as long again to create; an answer has many.
    const chunk = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (at < chunk.length) {
      if (this.#frame !== undefined) at = this.#continueFrame(this.#frame, chunk, at);
      else if (this.#headerFilled > 0 || chunk.length - at < frameHeaderBytes) at = this.#continueHeader(chunk, at);
      else at = this.#readFrame(chunk, at);
    }
  }

  #readFrame(chunk: Uint8Array, at: number): number {
    const bytes = this.#lengthAt(chunk, at);
    const end = at + bytes;
    if (end > chunk.length) {
      this.#begin(bytes);
      return at;
    }
    const isAligned = (chunk.byteOffset + at) % frameAlignmentBytes === 0;
    this.#onFrame(isAligned ? chunk.subarray(at, end) : copyOf(chunk, at, end));
    return end;
  }

  #continueHeader(chunk: Uint8Array, at: number): number {
    const end = Math.min(chunk.length, at + frameHeaderBytes - this.#headerFilled);
    this.#header.set(chunk.subarray(at, end), this.#headerFilled);
    this.#headerFilled += end - at;
    if (this.#headerFilled < frameHeaderBytes) return end;
    this.#headerFilled = 0;
    const bytes = this.#lengthAt(this.#header, 0);
    const frame = this.#begin(bytes);
    frame.set(this.#header);
    this.#frameFilled = frameHeaderBytes;
    this.#emitIfFull(frame);
    return end;
  }

  #continueFrame(frame: Uint8Array, chunk: Uint8Array, at: number): number {
    const end = Math.min(chunk.length, at + frame.length - this.#frameFilled);
    frame.set(chunk.subarray(at, end), this.#frameFilled);
    this.#frameFilled += end - at;
    this.#emitIfFull(frame);
    return end;
  }

  #begin(bytes: number): Uint8Array {
    this.#frame = new Uint8Array(bytes);
    this.#frameFilled = 0;
    return this.#frame;
  }

  #emitIfFull(frame: Uint8Array): void {
    if (this.#frameFilled < frame.length) return;
    this.#frame = undefined;
    this.#onFrame(frame);
  }

  #lengthAt(bytes: Uint8Array, at: number): number {
    const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16);
    const length = low + (bytes[at + 3] as number) * 2 ** 24;
    if (length < frameHeaderBytes || length % frameAlignmentBytes !== 0) {
      throw new MalformedFrame(`a frame cannot be ${length} bytes long: it must be a multiple of 8, and at least 8`);
    }
    if (length > this.#frameBytesMax) {
      throw new MalformedFrame(`a frame of ${length} bytes is over the maximum of ${this.#frameBytesMax}`);
    }
    return length;
  }
}
