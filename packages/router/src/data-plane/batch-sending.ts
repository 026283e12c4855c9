/**
 * Sends batches to workers. Most are sent as soon as they are laid out. One that is copied in slices is sent when the copy
 * is done, and later ones wait for it, so that a worker gets its batches in the order of dispatch.
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
  /** Its inputs are copied. */
  isReady: boolean;
  cancelCopy: () => void;
  /** Called when its inputs are no longer read. */
  readonly onCopied: (() => void)[];
}

/** Whether the caller of a decoupled batch takes another answer now. Called in the midst of other work. */
export type CreditListener = (batch: BatchId, hasCredit: boolean) => void;

export class BatchSending {
  readonly #sliced: SlicedWork;
  readonly #now: () => number;
  readonly #onCredit: CreditListener;
  readonly #queues = new Map<WorkerId, Sending[]>();

  constructor(sliced: SlicedWork, now: () => number, onCredit: CreditListener) {
    this.#sliced = sliced;
    this.#now = now;
    this.#onCredit = onCredit;
  }

  send(link: WorkerLink, message: DispatchMessage, batch: RunningBatch, slices: Slices | undefined): void {
    const queue = this.#queues.get(batch.worker);
    if (slices === undefined && queue === undefined) {
      this.#hand(link, message, batch);
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
   * Calls back when the inputs of the request are no longer read: their memory may be reused as soon as the caller is told
   * that its request has ended. False: they are not being read, and `onCopied` is not called.
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

  /** Nobody waits for the batch any more. True: it was not sent yet, and is dropped. */
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
      // A closed link sends nothing, but releases the region.
      sending.link.send(sending.message);
      tellCopied(sending);
    }
  }

  #flush(worker: WorkerId): void {
    const queue = this.#queues.get(worker) ?? [];
    while (queue[0]?.isReady === true) {
      const sending = queue.shift() as Sending;
      this.#hand(sending.link, sending.message, sending.batch);
      tellCopied(sending);
    }
    if (queue.length === 0) this.#queues.delete(worker);
  }

  /** Sends the batch, with credit for answers where the model is decoupled: such a batch has one request. */
  #hand(link: WorkerLink, message: DispatchMessage, { pending }: RunningBatch): void {
    const { batch } = message;
    link.send(message);
    pending[0]?.waiter.flow?.connect({
      grant: (answers) => link.send({ kind: 'grant', batch, answers }),
      creditChanged: (hasCredit) => this.#onCredit(batch, hasCredit),
    });
  }
}

function tellCopied({ onCopied }: Sending): void {
  for (const listener of onCopied.splice(0)) listener();
}

function ignore(): void {}
