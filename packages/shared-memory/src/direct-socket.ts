import { type SystemCalls, systemCalls } from './system-calls.ts';

/** The most that one call receives; the rest is left for the next call. */
export const receiveBytesMax = 64 * 1024;

/**
 * A connected socket by its descriptor, bypassing the event loop: for a process that does nothing but wait for it.
 * (Here because it needs the C library.)
 */
export class DirectSocket {
  readonly #descriptor: number;
  readonly #calls: SystemCalls;
  readonly #scratch = new Uint8Array(receiveBytesMax);

  /** `waitMsMax`: how long `receiveWaiting` waits at most. */
  constructor(descriptor: number, waitMsMax: number, calls: SystemCalls = systemCalls()) {
    this.#descriptor = descriptor;
    this.#calls = calls;
    calls.makeWaiting(descriptor, waitMsMax);
  }

  /** The bytes that have arrived, copied; undefined when there are none, `ended` at the end of the stream. */
  receive(): Uint8Array | undefined | 'ended' {
    return this.#received(this.#calls.receive(this.#descriptor, this.#scratch));
  }

  /** The same, but blocks this thread until something arrives or the stream ends; undefined after a signal and at the limit. */
  receiveWaiting(): Uint8Array | undefined | 'ended' {
    return this.#received(this.#calls.receiveWaiting(this.#descriptor, this.#scratch));
  }

  /** Returns when the kernel has all of it; the memory may then be used again. Throws when the peer has closed. */
  send(bytes: Uint8Array): void {
    this.#calls.send(this.#descriptor, bytes);
  }

  #received(count: number | undefined): Uint8Array | undefined | 'ended' {
    if (count === undefined) return undefined;
    return count === 0 ? 'ended' : new Uint8Array(this.#scratch.subarray(0, count));
  }
}

/** Undefined where the system calls are not available: then the event loop must be used. */
export function takeDirectSocket(descriptor: number, waitMsMax: number): DirectSocket | undefined {
  try {
    return new DirectSocket(descriptor, waitMsMax);
  } catch {
    return undefined;
  }
}
