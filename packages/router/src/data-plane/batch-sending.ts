/**
 * Batches on their way to a worker. Most are sent as soon as they are laid out. One that is copied in slices is sent
 * when that is done, and those behind it wait for it, so that a worker gets its batches in the order of dispatch.
 */
import type { BatchId, WorkerId } from '@millrace/core';
import type { DispatchMessage, WorkerLink } from '@millrace/protocol';
import type { PendingRequest } from './pending-requests.ts';
import type { RunningBatch } from './running-batch.ts';
import type { SlicedWork, Slices } from './sliced-work/sliced-work.ts';

interface Sending {
  readonly link: WorkerLink;
  readonly message: DispatchMessage;
  readonly batch: RunningBatch;
  /** Its inputs are in place. */
  isReady: boolean;
  cancelCopy: () => void;
  /** What waits until its inputs are no longer read. */
  readonly onCopied: (() => void)[];
}

export class BatchSending {
  readonly #sliced: SlicedWork;
  readonly #now: () => number;
  readonly #queues = new Map<WorkerId, Sending[]>();

  constructor(sliced: SlicedWork, now: () => number) {
    this.#sliced = sliced;
    this.#now = now;
  }

  send(link: WorkerLink, message: DispatchMessage, batch: RunningBatch, slices: Slices | undefined): void {
    const queue = this.#queues.get(batch.worker);
    if (slices === undefined && queue === undefined) {
      hand(link, message, batch);
      return;
    }
    const sending: Sending = { link, message, batch, isReady: slices === undefined, cancelCopy: ignore, onCopied: [] };
    if (queue === undefined) this.#queues.set(batch.worker, [sending]);
    else queue.push(sending);
    if (slices === undefined) return;
    sending.cancelCopy = this.#sliced.run(slices, () => {
      sending.isReady = true;
      batch.layOutMs = this.#now() - batch.dispatchedAt;
      this.#flush(batch.worker);
    });
  }

  /**
   * Calls back when the inputs of the request are no longer read, if they still are: whoever hears that its request has
   * ended may use their memory for something else. False: they are not read, and nothing is called.
   */
  waitForCopy(pending: PendingRequest, onCopied: () => void): boolean {
    for (const queue of this.#queues.values()) {
      for (const sending of queue) {
        if (sending.isReady || !sending.batch.pending.includes(pending)) continue;
        sending.onCopied.push(onCopied);
        return true;
      }
    }
    return false;
  }

  /** Nobody waits for the batch any more. True: it was not sent yet, and never will be. */
  cancel(worker: WorkerId, batch: BatchId): boolean {
    const queue = this.#queues.get(worker);
    const at = queue?.findIndex(({ message }) => message.batch === batch) ?? -1;
    if (queue === undefined || at === -1) return false;
    const [sending] = queue.splice(at, 1) as [Sending];
    sending.cancelCopy();
    sending.message.region.release();
    tellCopied(sending);
    this.#flush(worker);
    return true;
  }

  workerGone(worker: WorkerId): void {
    const queue = this.#queues.get(worker);
    this.#queues.delete(worker);
    for (const sending of queue ?? []) {
      sending.cancelCopy();
      // A link that is gone sends nothing, but takes its memory back.
      sending.link.send(sending.message);
      tellCopied(sending);
    }
  }

  #flush(worker: WorkerId): void {
    const queue = this.#queues.get(worker) ?? [];
    while (queue[0]?.isReady === true) {
      const sending = queue.shift() as Sending;
      hand(sending.link, sending.message, sending.batch);
      tellCopied(sending);
    }
    if (queue.length === 0) this.#queues.delete(worker);
  }
}

/** To the worker, with the credit for its answers where it may give several: then its batch is one request. */
function hand(link: WorkerLink, message: DispatchMessage, { pending }: RunningBatch): void {
  link.send(message);
  pending[0]?.waiter.flow?.connect((answers) => link.send({ kind: 'grant', batch: message.batch, answers }));
}

function tellCopied({ onCopied }: Sending): void {
  for (const listener of onCopied.splice(0)) listener();
}

function ignore(): void {}
