/**
 * Work on bytes that is too long for one turn of the event loop: done a slice a turn, so that whoever sends 256 MiB
 * holds up nobody. All such work takes turns: the loop has one slice of it a turn, however much there is, and owners take
 * turns, however much one of them brings.
 */
import { OwnerRotation } from '@millrace/http';
import type { Clock } from '../clock.ts';

/** Up to here bytes are copied at once: about a millisecond where memory is warm. */
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
   * Does the first slice in a later turn. What a slice throws is a defect, unless `onFailed` takes it. Without an owner it is
   * the server's own. Returns the way to call it off: nothing is touched or called after that.
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
