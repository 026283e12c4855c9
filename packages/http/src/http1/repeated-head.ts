/**
 * The last head of a connection, as bytes and as what they mean. Clients send the same head with every request, or
 * nearly always; comparing it costs a fraction of reading it, and what was made of it before can be used again.
 */
import type { Http1Head } from './request-head.ts';

/** Longer heads are not kept: an idle connection is to stay small. */
export const repeatedHeadBytesMax = 1024;

export class RepeatedHead {
  #bytes: Buffer | undefined = undefined;
  #head: Http1Head | undefined = undefined;

  /** Behind the head and its empty line, if just the same comes again at `at`; otherwise -1. */
  endIn(bytes: Buffer, at: number): number {
    const known = this.#bytes;
    if (known === undefined) return -1;
    const end = at + known.length;
    return end <= bytes.length && known.compare(bytes, at, end) === 0 ? end : -1;
  }

  /** What the bytes that came again mean. */
  get head(): Http1Head {
    return this.#head as Http1Head;
  }

  /** `bytes[start, end)` is the head with its empty line. */
  keep(bytes: Buffer, start: number, end: number, head: Http1Head): void {
    const length = end - start;
    if (length > repeatedHeadBytesMax) {
      this.#bytes = undefined;
      this.#head = undefined;
      return;
    }
    // A client whose head differs every time, if only in a trace id, mostly keeps its length.
    if (this.#bytes?.length !== length) this.#bytes = Buffer.allocUnsafeSlow(length);
    bytes.copy(this.#bytes, 0, start, end);
    this.#head = head;
  }
}
