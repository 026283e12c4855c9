/** A header block that arrives in several frames, collected within limits (RFC 9113, 6.10). */
export class HeaderBlock {
  /** The stream whose block is open; 0 when none is. */
  streamId = 0;
  isEndStream: boolean = false;
  /** The block breaks a rule of its stream; the stream is reset once the block has been decoded. */
  isSelfDependent: boolean = false;
  startedMs = 0;
  #parts: Buffer[] = [];
  #bytes = 0;
  #frames = 0;

  begin(streamId: number, isEndStream: boolean, isSelfDependent: boolean, nowMs: number): void {
    this.streamId = streamId;
    this.isEndStream = isEndStream;
    this.isSelfDependent = isSelfDependent;
    this.startedMs = nowMs;
    this.#parts = [];
    this.#bytes = 0;
    this.#frames = -1;
  }

  /** Adds a frame's fragment; false when the block is over either limit. */
  add(fragment: Buffer, bytesMax: number, framesMax: number): boolean {
    this.#frames++;
    this.#bytes += fragment.length;
    if (this.#bytes > bytesMax || this.#frames > framesMax) return false;
    if (fragment.length > 0) this.#parts.push(fragment);
    return true;
  }

  finish(): Buffer {
    const block = this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts);
    this.streamId = 0;
    this.#parts = [];
    return block;
  }
}
