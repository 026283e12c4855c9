/**
 * Gives back what a busy time has left behind when the router has next to nothing to do: garbage, which V8 collects only when more
 * is allocated, its young generation, and freed memory that the allocator of the C library keeps. A collection stops the
 * process for a moment, so there is none unless memory has grown, and it takes at most a hundredth of the time.
 */

/** What this needs of its process. */
export interface IdleProcess {
  now(): number;
  /** For how long the event loop has been busy, in milliseconds. */
  busyMs(): number;
  residentBytes(): number;
  /** Collects all garbage, or that of the young generation. */
  collect(generations: 'all' | 'young'): void;
  /** Returns memory that is free to the system. */
  trim(): void;
}

/** How often it looks; a router was idle when it was busy for less than a twentieth of the time in between. */
export const idleCheckMs = 5000;
const idleUtilizationMax = 0.05;
/**
 * Looks in a row at an idle process before it collects: a minute. With the last objects of a class V8 also drops the code that was
 * optimized for them, and the next tens of thousands of requests take two to three times as long. So it is not for a short pause.
 */
export const idleChecksMin = 12;
/** Less is not worth a collection. */
export const grownBytesMin: number = 16 * 1024 * 1024;
/** How often the young generation is collected after all was: V8 makes it smaller when it has seen for 5 s how little is allocated. */
const youngCollections = 2;
/** After a collection that took a millisecond there is none for this many. */
const pauseMsPerMs = 100;

export class IdleMemory {
  readonly #process: IdleProcess;
  #lookedAtMs: number;
  #busyMs: number;
  /** What the process had when its memory was last given back. */
  #residentBytes = 0;
  /** Looks in a row that have found the process idle. */
  #idleLooks = 0;
  /** Looks at an idle process that memory is still given back at. */
  #looksLeft = 0;
  #notBeforeMs = 0;

  constructor(process: IdleProcess) {
    this.#process = process;
    this.#lookedAtMs = process.now();
    this.#busyMs = process.busyMs();
  }

  /** To be called every `idleCheckMs`. */
  look(): void {
    const isIdle = this.#wasIdle();
    this.#idleLooks = isIdle ? this.#idleLooks + 1 : 0;
    if (isIdle && this.#looksLeft > 0) this.#giveBack();
    else if (this.#idleLooks >= idleChecksMin && this.#isWorthwhile()) this.#collect();
    else this.#looksLeft = 0;
  }

  #wasIdle(): boolean {
    const nowMs = this.#process.now();
    const busyMs = this.#process.busyMs();
    const isIdle = busyMs - this.#busyMs <= idleUtilizationMax * (nowMs - this.#lookedAtMs);
    this.#lookedAtMs = nowMs;
    this.#busyMs = busyMs;
    return isIdle;
  }

  #isWorthwhile(): boolean {
    const grownBytes = this.#process.residentBytes() - this.#residentBytes;
    return grownBytes >= grownBytesMin && this.#process.now() >= this.#notBeforeMs;
  }

  #collect(): void {
    const beganMs = this.#process.now();
    this.#process.collect('all');
    const endedMs = this.#process.now();
    this.#notBeforeMs = endedMs + pauseMsPerMs * (endedMs - beganMs);
    this.#looksLeft = youngCollections;
    // The collection itself is no sign of work.
    this.#lookedAtMs = endedMs;
    this.#busyMs = this.#process.busyMs();
  }

  /** Some seconds later, because buffers are freed in the background. */
  #giveBack(): void {
    this.#looksLeft -= 1;
    this.#process.collect('young');
    this.#process.trim();
    this.#residentBytes = this.#process.residentBytes();
  }
}
