/**
 * Work that would hold the event loop for long, done in slices: a generator that yields after each. One slice of one
 * piece of work runs in a turn of the loop, so that many at once take longer and do not block the loop.
 */
import { OwnerRotation } from '@millrace/http';
import { type CancelReason, type CancelSignal, InferenceError } from '@millrace/protocol';

export type SliceGenerator<Result> = Generator<void, Result>;

/** Bytes of JSON that are read in a slice, and at once where there are no more. */
export const sliceBytes = 64 * 1024;

const rampBytes = 4 * 1024;

/**
 * The slice after one of so many bytes, the first after 0. They grow: code that has not run for a while, or meets something
 * new, is slow until the engine has compiled it, which it does between turns.
 */
export function nextSliceBytes(bytes: number): number {
  return Math.min(bytes + rampBytes, sliceBytes);
}

/** Runs a function in a later turn of the event loop. */
export type RunLater = (run: () => void) => void;

interface QueuedWork {
  readonly owner: string;
  readonly signal: CancelSignal;
  readonly work: SliceGenerator<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class SliceQueue {
  readonly #queued = new OwnerRotation<QueuedWork>();
  readonly #runLater: RunLater;
  readonly #runSlice = (): void => this.#run();
  #isDue: boolean = false;

  constructor(runLater: RunLater = (run) => void setImmediate(run)) {
    this.#runLater = runLater;
  }

  /** Pieces of work in progress. */
  get size(): number {
    return this.#queued.size;
  }

  /** Resolves or rejects with the outcome of the work. Cancelled work is ended at its next slice. */
  run<Result>(work: SliceGenerator<Result>, owner: string, signal: CancelSignal): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#queued.add(owner, { owner, signal, work, resolve: resolve as (result: unknown) => void, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#runLater(this.#runSlice);
  }

  #run(): void {
    this.#isDue = false;
    const queued = this.#queued.take();
    if (queued === undefined) return;
    const { owner, signal, work, resolve, reject } = queued;
    try {
      if (signal.reason !== undefined) {
        work.return(undefined);
        reject(endedBy(signal.reason));
      } else {
        const { done, value } = work.next();
        if (done === true) resolve(value);
        else this.#queued.add(owner, queued);
      }
    } catch (error) {
      reject(error);
    }
    if (this.#queued.size > 0) this.#schedule();
  }
}

/** Does all of the work at once: for work that is known to be small. */
export function doAtOnce<Result>(work: SliceGenerator<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

function endedBy(reason: CancelReason): InferenceError {
  return reason === 'cancelled'
    ? new InferenceError('cancelled', 'the caller went away')
    : new InferenceError('deadline-exceeded', 'the deadline of the request passed while it was being read');
}
