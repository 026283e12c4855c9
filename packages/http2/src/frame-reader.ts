/**
 * Splits what arrives into frames without copying. A DATA frame's payload is passed on as it arrives, never collected;
 * any other frame is passed on whole, as a view of its chunk, and copied only when it spans two chunks.
 */
import assert from 'node:assert/strict';
import { frameFlag, frameType, http2FrameHeaderBytes, readUint32BigEndian } from './frames.ts';

export interface FrameSink {
  /** Nothing more is read: the connection failed or was closed. */
  readonly isStopped: boolean;
  /** The rest of the chunk is left for a later turn. */
  readonly isTurnOver: boolean;
  /** A frame begins. False when its payload is not wanted and is skipped (its `onFrame` is not called). */
  onFrameBegin(type: number, flags: number, streamId: number, length: number): boolean;
  /** A whole frame other than DATA lies at `bytes[start, end)`. */
  onFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void;
  /** The padding of the current DATA frame is known, and how much data it has; called before any data is passed on. */
  onDataBegin(dataBytes: number): void;
  onDataPiece(piece: Buffer): void;
  /** The DATA frame is complete, padding included. */
  onDataEnd(): void;
  /** The frame's padding does not fit into it. */
  onBadPadding(): void;
}

const knownTypes = frameType.continuation;

export class Http2FrameReader {
  readonly #sink: FrameSink;
  #header: Buffer | undefined = undefined;
  #headerHave = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** Payload bytes of the current frame that have not arrived yet; -1 between frames. */
  #left = -1;
  #isData: boolean = false;
  #isSkipped: boolean = false;
  #isPadLengthDue: boolean = false;
  /** How many of the last bytes of `#left` are padding. */
  #padding = 0;
  #partial: Buffer | undefined = undefined;
  #partialHave = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Whether a frame has begun and not ended. */
  get isInFrame(): boolean {
    return this.#left >= 0 || this.#headerHave > 0;
  }

  /** How much of the data of the current DATA frame is to come; 0 also while that is not known, or where it is skipped. */
  get dataLeftBytes(): number {
    return this.#left < 0 || !this.#isData || this.#isSkipped || this.#isPadLengthDue ? 0 : this.#left - this.#padding;
  }

  /** Whether padding follows the data of the current DATA frame. */
  get isPadded(): boolean {
    return this.#padding > 0;
  }

  /** So many bytes of the data that is to come have been received elsewhere. */
  skipData(bytes: number): void {
    assert(bytes <= this.dataLeftBytes, 'more data was received than its frame has');
    this.#left -= bytes;
    if (this.#left > 0) return;
    this.#left = -1;
    this.#sink.onDataEnd();
  }

  /** Returns where it stopped: at the end, or between two frames where the sink's turn is over. */
  read(chunk: Buffer, from: number): number {
    const sink = this.#sink;
    const end = chunk.length;
    let at = from;
    while (!sink.isStopped) {
      if (this.#left < 0) {
        if (at >= end) return end;
        if (sink.isTurnOver) return at;
        at = this.#readHeader(chunk, at);
        if (this.#left < 0) continue;
        if (sink.isStopped) return end;
      }
      if (this.#isData) {
        at = this.#readData(chunk, at);
        if (this.#left >= 0) return end;
      } else {
        at = this.#readWhole(chunk, at);
        if (this.#left >= 0) return end;
      }
    }
    return end;
  }

  #readHeader(chunk: Buffer, from: number): number {
    let at = from;
    let bytes = chunk;
    let start = at;
    if (this.#headerHave > 0 || chunk.length - at < http2FrameHeaderBytes) {
      this.#header ??= Buffer.alloc(http2FrameHeaderBytes);
      const taken = Math.min(http2FrameHeaderBytes - this.#headerHave, chunk.length - at);
      chunk.copy(this.#header, this.#headerHave, at, at + taken);
      this.#headerHave += taken;
      at += taken;
      if (this.#headerHave < http2FrameHeaderBytes) return at;
      bytes = this.#header;
      start = 0;
      this.#headerHave = 0;
    } else at += http2FrameHeaderBytes;
    const length =
      ((bytes[start] as number) << 16) | ((bytes[start + 1] as number) << 8) | (bytes[start + 2] as number);
    this.#type = bytes[start + 3] as number;
    this.#flags = bytes[start + 4] as number;
    this.#streamId = readUint32BigEndian(bytes, start + 5) & 0x7fffffff;
    this.#left = length;
    this.#isData = this.#type === frameType.data;
    this.#padding = 0;
    const isWanted = this.#sink.onFrameBegin(this.#type, this.#flags, this.#streamId, length);
    this.#isSkipped = !isWanted || this.#type > knownTypes;
    if (this.#isData && !this.#sink.isStopped) this.#beginData(length);
    return at;
  }

  #beginData(length: number): void {
    this.#isPadLengthDue = (this.#flags & frameFlag.padded) !== 0;
    if (this.#isPadLengthDue) {
      if (length === 0) this.#sink.onBadPadding();
    } else if (!this.#isSkipped) this.#sink.onDataBegin(length);
  }

  #readData(chunk: Buffer, from: number): number {
    let at = from;
    if (this.#isPadLengthDue) {
      if (at >= chunk.length) return at;
      this.#padding = chunk[at++] as number;
      this.#left--;
      this.#isPadLengthDue = false;
      if (this.#padding > this.#left) {
        this.#sink.onBadPadding();
        return at;
      }
      if (!this.#isSkipped) this.#sink.onDataBegin(this.#left - this.#padding);
    }
    const data = Math.min(this.#left - this.#padding, chunk.length - at);
    if (data > 0) {
      if (!this.#isSkipped) this.#sink.onDataPiece(chunk.subarray(at, at + data));
      at += data;
      this.#left -= data;
    }
    if (this.#left <= this.#padding) {
      const padding = Math.min(this.#left, chunk.length - at);
      at += padding;
      this.#left -= padding;
      this.#padding -= padding;
    }
    if (this.#left === 0) {
      this.#left = -1;
      if (!this.#isSkipped) this.#sink.onDataEnd();
    }
    return at;
  }

  #readWhole(chunk: Buffer, from: number): number {
    const available = Math.min(this.#left, chunk.length - from);
    const at = from + available;
    if (this.#isSkipped) {
      this.#left -= available;
      if (this.#left === 0) this.#left = -1;
      return at;
    }
    if (this.#partial === undefined) {
      if (available === this.#left) {
        this.#left = -1;
        this.#sink.onFrame(this.#type, this.#flags, this.#streamId, chunk, from, at);
        return at;
      }
      this.#partial = Buffer.allocUnsafe(this.#left);
      this.#partialHave = 0;
    }
    chunk.copy(this.#partial, this.#partialHave, from, at);
    this.#partialHave += available;
    this.#left -= available;
    if (this.#left === 0) {
      const whole = this.#partial;
      this.#partial = undefined;
      this.#left = -1;
      this.#sink.onFrame(this.#type, this.#flags, this.#streamId, whole, 0, whole.length);
    }
    return at;
  }
}
