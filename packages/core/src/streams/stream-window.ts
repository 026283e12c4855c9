/**
 * Decides for one stream of requests what its caller is sent next, and whether it may send more. Answers leave in the
 * order of the requests; those of a request that may have several leave as they come. Pure: it holds what it is given
 * until it is due, and does nothing with it.
 */

export interface StreamWindowLimits {
  /** Requests of one stream that are not answered, or whose answers are not sent, before the caller is held back. */
  readonly requestsMax: number;
  /**
   * The same while a sequence of the stream waits for a slot. Those that have the slots may go on with requests that are
   * still to come: holding the caller back would keep both waiting. Beyond, the one that waits is refused.
   */
  readonly slotWaitRequestsMax: number;
  /** Bytes of answers that wait for those before them, likewise. */
  readonly slotWaitBytesMax: number;
}

/** What a request comes to, or a part of it. */
export interface WindowOutput<Output> {
  readonly output: Output;
  readonly bytes: number;
}

/** A request of the stream: its place in the order of answers. */
export class WindowEntry<Output> {
  /** What it has come to so far and was not taken yet. */
  readonly outputs: WindowOutput<Output>[] = [];
  /** Nothing more comes of it. */
  isSettled: boolean = false;
  waitsForSlot: boolean = false;
  /** Its answers may leave before those of earlier requests. */
  isFree: boolean = false;
}

export class StreamWindow<Output> {
  readonly #limits: StreamWindowLimits;
  #entries: WindowEntry<Output>[] = [];
  /** Not settled yet, and nobody has to end something before they can be. */
  #running = 0;
  #slotWaits = 0;
  /** Of outputs that are not taken. */
  #heldBytes = 0;
  /** Outputs that may leave before those of earlier requests. */
  #freeOutputs = 0;

  constructor(limits: StreamWindowLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** The caller is to be held back. `isRead`: it takes what it is sent. */
  isFull(isRead: boolean): boolean {
    const { requestsMax } = this.#limits;
    if (this.#running >= requestsMax) return true;
    return (this.#slotWaits === 0 || !isRead) && this.#entries.length >= requestsMax;
  }

  /** As much as may be has come while a sequence waits for a slot. */
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

  /** One of several outputs of a request, whose answers are free from then on. False when it was settled before. */
  put(entry: WindowEntry<Output>, output: WindowOutput<Output>): boolean {
    if (entry.isSettled) return false;
    entry.isFree = true;
    this.#hold(entry, output);
    return true;
  }

  /** Nothing more comes of it than this. False when it was settled before. */
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

  /** Those that wait for a slot, in their order. */
  slotWaits(): readonly WindowEntry<Output>[] {
    return this.#entries.filter(({ waitsForSlot, isSettled }) => waitsForSlot && !isSettled);
  }

  /** What is to be sent next, once it is known. */
  takeNext(): WindowOutput<Output> | undefined {
    for (let index = 0; index < this.#entries.length; index++) {
      // Most streams have none that are free: only the head is looked at.
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

  /** All that is left of it: nobody will be sent anything any more. */
  takeAll(): readonly WindowEntry<Output>[] {
    const all = this.#entries;
    this.#entries = [];
    this.#heldBytes = 0;
    this.#freeOutputs = 0;
    return all;
  }

  /** Those that something may still come of. */
  unsettled(): readonly WindowEntry<Output>[] {
    return this.#entries.filter(({ isSettled }) => !isSettled);
  }
}
