/** Which outputs of a worker the router has released, and when the worker is told. */
import { releaseOffsetsMax } from '@millrace/protocol';

/** How long the releases of outputs wait for a message to an idle worker: it counts their memory as needed until it is told. */
export const releaseMsMax = 5000;

const none: readonly (readonly number[])[] = [];

export class OutputReleases {
  readonly #isBusy: () => boolean;
  readonly #send: () => void;
  #offsets: number[] = [];
  #isScheduled: boolean = false;
  #late: NodeJS.Timeout | undefined;

  /** `isBusy`: whether the worker has batches. `send`: sends what `take` returns. */
  constructor(isBusy: () => boolean, send: () => void) {
    this.#isBusy = isBusy;
    this.#send = send;
  }

  /**
   * A worker needs the memory of its old outputs only for new ones, so an idle worker is not woken for each: the releases
   * are sent ahead of the next message, or after a while. A busy worker gets them at the end of this round of events.
   */
  add(offset: number): void {
    this.#offsets.push(offset);
    if (this.#isScheduled) return;
    if (!this.#isBusy()) {
      this.#late ??= setTimeout(this.#sendLate, releaseMsMax).unref();
      return;
    }
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  readonly #sendLate = (): void => {
    this.#late = undefined;
    this.#send();
  };

  /** The offsets since the last call, as many in each list as one message has. */
  take(): readonly (readonly number[])[] {
    const offsets = this.#offsets;
    if (offsets.length === 0) return none;
    this.#offsets = [];
    if (offsets.length <= releaseOffsetsMax) return [offsets];
    const lists: (readonly number[])[] = [];
    for (let at = 0; at < offsets.length; at += releaseOffsetsMax)
      lists.push(offsets.slice(at, at + releaseOffsetsMax));
    return lists;
  }

  /** The worker is gone. */
  close(): void {
    clearTimeout(this.#late);
  }
}
