/**
 * Work on bytes that is too long for one turn of the event loop: done one slice a turn, so that a request of 256 MiB does not
 * block others. A turn has one slice of all such work, however much there is, and owners take turns, however much work one of
 * them has.
 */
import { OwnerRotation } from '@millrace/http';
import type { Clock } from '../clock.ts';

/** Up to this size bytes are copied in one go: about a millisecond where memory is warm. */
export const copySliceBytesMax: number = 4 * 1024 * 1024;

/** Each `next` does one slice. */
export type Slices = Iterator<void, void>;

interface Task {
  readonly owner: string;
  readonly slices: Slices;
  readonly onDone: () => void;
  readonly onFailed: ((error: unknown) => void) | undefined;
  isCancelled: boolean;
}

export class SlicedWork {
  readonly #clock: Clock;
  readonly #tasks = new OwnerRotation<Task>();
  #isScheduled: boolean = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Work that is not done yet. */
  get count(): number {
    return this.#tasks.size;
  }

  /**
   * Does the first slice in a later turn. An error of a slice is a bug, unless `onFailed` takes it. Work without an owner is
   * the server's own. Returns a function that cancels the work: nothing is written or called after that.
   */
  run(slices: Slices, onDone: () => void, onFailed?: (error: unknown) => void, owner: string = ''): () => void {
    const task: Task = { owner, slices, onDone, onFailed, isCancelled: false };
    this.#tasks.add(owner, task);
    this.#schedule();
    return () => {
      task.isCancelled = true;
      this.#tasks.remove(owner, task);
    };
  }

  #schedule(): void {
    if (this.#isScheduled || this.#tasks.size === 0) return;
    this.#isScheduled = true;
    this.#clock.endOfTurn(() => {
      this.#isScheduled = false;
      this.#step();
      this.#schedule();
    });
  }

  #step(): void {
    const task = this.#tasks.take();
    if (task === undefined) return;
    let isDone: boolean;
    try {
      isDone = task.slices.next().done === true;
    } catch (error) {
      if (task.onFailed === undefined) throw error;
      task.onFailed(error);
      return;
    }
    if (!isDone) this.#tasks.add(task.owner, task);
    else if (!task.isCancelled) task.onDone();
  }
}
