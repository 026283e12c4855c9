/**
 * Finds where WebSocket frames begin and end (RFC 6455, 5.2), so that they can be counted, held back and handed on
 * whole. Whether they are valid is left to the protocol's reader, which gets the head of a frame before its payload.
 */
import { ByteGatherer, unpinned } from '../wire/byte-gatherer.ts';
import type { MemoryLease } from '../wire/memory.ts';

/** Two bytes, a length of up to eight, and the masking key. */
const headBytesMax = 14;

export interface WebSocketFrameSink {
  /** The head is complete; its bytes are valid until the frame ends. False: nothing more is to be read. */
  onFrameHead(head: Buffer): boolean;
  /** Some of the payload has arrived, so many bytes. False: nothing more is to be read. */
  onPayloadBytes(count: number): boolean;
  /** The whole payload, not empty. The view stays valid. */
  onPayload(payload: Uint8Array): void;
  /** After the head or the payload, whichever comes last. */
  onFrameEnd(): void;
}

export class FrameGatherer {
  readonly #sink: WebSocketFrameSink;
  readonly #memory: MemoryLease;
  readonly #head = Buffer.allocUnsafeSlow(headBytesMax);
  #headBytes = 0;
  /** Bytes of the payload that have not arrived; -1 while the head is incomplete. */
  #leftBytes = -1;
  #payload: ByteGatherer | undefined = undefined;

  constructor(sink: WebSocketFrameSink, memory: MemoryLease) {
    this.#sink = sink;
    this.#memory = memory;
  }

  /** Part of a frame has arrived, and the rest has not. */
  get isInFrame(): boolean {
    return this.#headBytes > 0;
  }

  /** Reads at most to the end of a frame. Returns where it stopped, or -1 when nothing more is to be read. */
  read(bytes: Buffer, start: number): number {
    let at = start;
    if (this.#leftBytes < 0) {
      at = this.#readHead(bytes, at);
      if (this.#leftBytes < 0) return at;
      if (!this.#sink.onFrameHead(this.#head.subarray(0, this.#headBytes))) return -1;
      if (this.#leftBytes === 0) {
        this.#endFrame();
        return at;
      }
    }
    return at === bytes.length ? at : this.#readPayload(bytes, at);
  }

  clear(): void {
    this.#payload?.clear();
    this.#payload = undefined;
  }

  #readHead(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length) {
      this.#head[this.#headBytes++] = bytes[at++] as number;
      if (this.#headBytes >= 2 && this.#headBytes === this.#headLength()) {
        this.#leftBytes = this.#payloadLength();
        break;
      }
    }
    return at;
  }

  #headLength(): number {
    const second = this.#head[1] as number;
    const short = second & 0x7f;
    return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + ((second & 0x80) === 0 ? 0 : 4);
  }

  /** A length above 2^53 is rounded: the protocol's reader refuses it. */
  #payloadLength(): number {
    const short = (this.#head[1] as number) & 0x7f;
    if (short === 126) return this.#head.readUInt16BE(2);
    return short === 127 ? Number(this.#head.readBigUInt64BE(2)) : short;
  }

  #readPayload(bytes: Buffer, start: number): number {
    const count = Math.min(this.#leftBytes, bytes.length - start);
    const end = start + count;
    const piece = bytes.subarray(start, end);
    const isWhole = this.#payload === undefined && count === this.#leftBytes;
    if (!this.#sink.onPayloadBytes(count)) return -1;
    if (isWhole) {
      this.#sink.onPayload(unpinned(piece));
      this.#endFrame();
      return end;
    }
    this.#payload ??= new ByteGatherer(this.#leftBytes, this.#memory);
    this.#payload.push(unpinned(piece));
    this.#leftBytes -= count;
    if (this.#leftBytes > 0) return end;
    this.#payload.settleNow();
    const payload = this.#payload.take();
    this.#payload = undefined;
    this.#sink.onPayload(payload);
    this.#endFrame();
    return end;
  }

  #endFrame(): void {
    this.#headBytes = 0;
    this.#leftBytes = -1;
    this.#sink.onFrameEnd();
  }
}
