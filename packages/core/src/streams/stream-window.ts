/**
 * Decides for one stream of requests which answer is sent next, and whether the caller may send more. Answers are sent
 * in the order of the requests; those of a request with several answers are sent as they arrive. Pure: it holds outputs
 * until they are due, and does nothing with them.
 */

export interface StreamWindowLimits {
  /** Requests of one stream that are unanswered, or whose answers are unsent, before back-pressure is applied. */
  readonly requestsMax: number;
  /**
   * The same while a sequence of the stream waits for a slot. The sequences with slots may need requests that are still
   * to come: pausing the caller would keep both waiting. Beyond this limit, the waiting one is refused.
   */
  readonly slotWaitRequestsMax: number;
  /** Bytes of answers that wait for earlier ones, likewise. */
  readonly slotWaitBytesMax: number;
}

/** The outcome of a request, or a part of it. */
export interface WindowOutput<Output> {
  readonly output: Output;
  readonly bytes: number;
}

/** A request of the stream: its place in the order of answers. */
export class WindowEntry<Output> {
  /** Its outputs so far that were not taken yet. */
  readonly outputs: WindowOutput<Output>[] = [];
  /** No further output comes. */
  isSettled: boolean = false;
  waitsForSlot: boolean = false;
  /** Its answers may be sent before those of earlier requests. */
  isFree: boolean = false;
}

export class StreamWindow<Output> {
  readonly #limits: StreamWindowLimits;
  #entries: WindowEntry<Output>[] = [];
  /** Unsettled requests that do not wait for another sequence to end. */
  #running = 0;
  #slotWaits = 0;
  /** Bytes of outputs that were not taken. */
  #heldBytes = 0;
  /** Outputs that may be sent before those of earlier requests. */
  #freeOutputs = 0;

  constructor(limits: StreamWindowLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Whether to pause the caller. `isRead`: it reads what it is sent. */
  isFull(isRead: boolean): boolean {
    const { requestsMax } = this.#limits;
    if (this.#running >= requestsMax) return true;
    return (this.#slotWaits === 0 || !isRead) && this.#entries.length >= requestsMax;
  }

  /** The limit while a sequence waits for a slot has been reached. */
  get isStuck(): boolean {
    if (this.#slotWaits === 0) return false;
    const { slotWaitRequestsMax, slotWaitBytesMax } = this.#limits;
    return this.#entries.length >= slotWaitRequestsMax || this.#heldBytes >= slotWaitBytesMax;
  }

  add(): WindowEntry<Output> {
    const entry = new WindowEntry<Output>();
    this.#entries.push(entry);
    this.#running += 1;
    return entry;
  }

  noteSlotWait(entry: WindowEntry<Output>): void {
    if (entry.isSettled || entry.waitsForSlot) return;
    entry.waitsForSlot = true;
    this.#running -= 1;
    this.#slotWaits += 1;
  }

  /**
   * One of several outputs of a request, whose answers need no order from then on. False when it was settled before.
   */
  put(entry: WindowEntry<Output>, output: WindowOutput<Output>): boolean {
    if (entry.isSettled) return false;
    entry.isFree = true;
    this.#hold(entry, output);
    return true;
  }

  /** The last output of the request. False when it was settled before. */
  settle(entry: WindowEntry<Output>, output: WindowOutput<Output> | undefined): boolean {
    if (entry.isSettled) return false;
    entry.isSettled = true;
    if (entry.waitsForSlot) this.#slotWaits -= 1;
    else this.#running -= 1;
    if (output !== undefined) this.#hold(entry, output);
    return true;
  }

  #hold(entry: WindowEntry<Output>, output: WindowOutput<Output>): void {
    entry.outputs.push(output);
    this.#heldBytes += output.bytes;
    if (entry.isFree) this.#freeOutputs += 1;
  }

  /** Requests that wait for a slot, in order. */
  slotWaits(): readonly WindowEntry<Output>[] {
    return this.#entries.filter(({ waitsForSlot, isSettled }) => waitsForSlot && !isSettled);
  }

  /** The next output to send, if it is available. */
  takeNext(): WindowOutput<Output> | undefined {
    for (let index = 0; index < this.#entries.length; index++) {
      // Most streams have no unordered answers: then only the head is checked.
      if (index > 0 && this.#freeOutputs === 0) return undefined;
      const entry = this.#entries[index] as WindowEntry<Output>;
      if (index > 0 && !entry.isFree) continue;
      const next = entry.outputs.shift();
      if (next !== undefined) {
        this.#heldBytes -= next.bytes;
        if (entry.isFree) this.#freeOutputs -= 1;
      }
      if (entry.isSettled && entry.outputs.length === 0) {
        this.#entries.splice(index, 1);
        index -= 1;
      }
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** Drops everything left: nothing will be sent any more. */
  takeAll(): readonly WindowEntry<Output>[] {
    const all = this.#entries;
    this.#entries = [];
    this.#heldBytes = 0;
    this.#freeOutputs = 0;
    return all;
  }

  /** Requests that may still have outputs. */
  unsettled(): readonly WindowEntry<Output>[] {
    return this.#entries.filter(({ isSettled }) => !isSettled);
  }
}
