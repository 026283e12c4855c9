import type { Http2Stream } from './stream.ts';

/** A first-in-first-out queue that holds no memory while it is empty. */
export class StreamQueue {
  #streams: Http2Stream[] = none;
  #head = 0;

  add(stream: Http2Stream): void {
    if (this.#streams === none) this.#streams = [];
    this.#streams.push(stream);
  }

  take(): Http2Stream | undefined {
    if (this.#head >= this.#streams.length) return undefined;
    const stream = this.#streams[this.#head++];
    if (this.#head === this.#streams.length) {
      this.#streams = none;
      this.#head = 0;
    } else if (this.#head > 256 && this.#head * 2 > this.#streams.length) {
      this.#streams = this.#streams.slice(this.#head);
      this.#head = 0;
    }
    return stream;
  }
}

const none: Http2Stream[] = [];
