import { type SystemCalls, systemCalls } from './system-calls.ts';

/** What one call receives at most; more is there for the next. */
export const receiveBytesMax = 64 * 1024;

/**
 * A connected socket by its descriptor, past the event loop: for a process that has nothing to do but wait for it. (Here
 * because it needs the C library.)
 */
export class DirectSocket {
  readonly #descriptor: number;
  readonly #calls: SystemCalls;
  readonly #scratch = new Uint8Array(receiveBytesMax);

  constructor(descriptor: number, calls: SystemCalls = systemCalls()) {
    this.#descriptor = descriptor;
    this.#calls = calls;
  }

  /** What has arrived, in memory of its own; undefined when nothing has, `ended` when nothing more will. */
  receive(): Uint8Array | undefined | 'ended' {
    const count = this.#calls.receive(this.#descriptor, this.#scratch);
    if (count === undefined) return undefined;
    return count === 0 ? 'ended' : new Uint8Array(this.#scratch.subarray(0, count));
  }

  /** Returns when the kernel has all of it; the memory may then be used again. Throws when the other end is gone. */
  send(bytes: Uint8Array): void {
    this.#calls.send(this.#descriptor, bytes);
  }

  /** Puts this thread to sleep until something arrives or the stream ends, at most so long. */
  sleep(milliseconds: number): void {
    this.#calls.awaitReadable(this.#descriptor, milliseconds);
  }
}

/** Undefined where the calls cannot be had: then the event loop must do. */
export function takeDirectSocket(descriptor: number): DirectSocket | undefined {
  try {
    return new DirectSocket(descriptor);
  } catch {
    return undefined;
  }
}
