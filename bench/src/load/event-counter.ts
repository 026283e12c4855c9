/** Reads chunked HTTP/1.1 responses full of server-sent events as they come, without a copy, and counts the events by name. */

/** Where in an event the name differs: behind `event: o`, `opened` goes on with p and `output` with u. */
const nameAt = 8;
const [letterU, letterN, lineFeed] = [0x75, 0x6e, 0x0a];

export class EventCounter {
  readonly #onEnd: () => void;
  outputs = 0;
  hasEnded: boolean = false;
  #part: 'head' | 'size' | 'data' | 'data-end' = 'head';
  /** Line feeds in a row, with nothing but carriage returns between. */
  #lineFeeds = 0;
  #size = 0;
  #left = 0;
  /** Bytes of the event so far, and whether the last one was a line feed. */
  #eventBytes = 0;
  #isLineEnd: boolean = false;

  /** `onEnd` is called at the end of each response. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#part === 'data') {
        const end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        this.#readEvents(bytes, at, end);
        at = end;
        if (this.#left === 0) this.#part = 'data-end';
      } else this.#readFraming(bytes[at++] as number);
    }
  }

  #readFraming(byte: number): void {
    if (this.#part === 'head') {
      if (byte === lineFeed) this.#lineFeeds += 1;
      else if (byte !== 0x0d) this.#lineFeeds = 0;
      if (this.#lineFeeds === 2) this.#part = 'size';
    } else if (this.#part === 'data-end') {
      if (byte !== lineFeed) return;
      this.#part = 'size';
      if (this.#size > 0) this.#size = 0;
      else this.#endResponse();
    } else if (byte === lineFeed) {
      this.#left = this.#size;
      // Behind the last chunk, which is empty, an empty line follows.
      this.#part = this.#size === 0 ? 'data-end' : 'data';
    } else if (byte !== 0x0d) this.#size = this.#size * 16 + Number.parseInt(String.fromCharCode(byte), 16);
  }

  #endResponse(): void {
    this.#part = 'head';
    this.#lineFeeds = 0;
    this.#onEnd();
    this.outputs = 0;
    this.hasEnded = false;
  }

  #readEvents(bytes: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number;
      if (this.#eventBytes === nameAt) {
        if (byte === letterU) this.outputs += 1;
        else if (byte === letterN) this.hasEnded = true;
      }
      this.#eventBytes = byte === lineFeed && this.#isLineEnd ? 0 : this.#eventBytes + 1;
      this.#isLineEnd = byte === lineFeed;
    }
  }
}
