/**
 * The last head of a connection, as bytes and as the request parsed from them. Clients send the same head with nearly
 * every request; comparing it costs a fraction of parsing it, and what was derived from it before can be reused.
 */
import type { Http1Head } from './request-head.ts';

/** Longer heads are not kept, so that idle connections stay small. */
export const repeatedHeadBytesMax = 1024;

export class RepeatedHead {
  #bytes: Buffer | undefined = undefined;
  #head: Http1Head | undefined = undefined;

  /** The offset behind the head and its empty line, if the same bytes come again in `bytes[at, limit)`; otherwise -1. */
  endIn(bytes: Buffer, at: number, limit: number): number {
    const known = this.#bytes;
    if (known === undefined) return -1;
    const end = at + known.length;
    return end <= limit && known.compare(bytes, at, end) === 0 ? end : -1;
  }

  /** The parsed request of the bytes that are kept. */
  get head(): Http1Head | undefined {
    return this.#head;
  }

  /** `bytes[start, end)` is the head with its empty line. */
  keep(bytes: Buffer, start: number, end: number, head: Http1Head): void {
    const length = end - start;
    if (length > repeatedHeadBytesMax) {
      this.#bytes = undefined;
      this.#head = undefined;
      return;
    }
    // Heads that differ every time, if only in a trace id, mostly keep their length.
    if (this.#bytes?.length !== length) this.#bytes = Buffer.allocUnsafeSlow(length);
    bytes.copy(this.#bytes, 0, start, end);
    this.#head = head;
  }
}
