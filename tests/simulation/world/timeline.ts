/** Something that is due; cancelled ones are dropped without a trace. */
export interface Appointment {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
  isCancelled: boolean;
}

/** The virtual time: it stands still during an event and jumps to the next one. Events at the same time run in order of scheduling. */
export class Timeline {
  #nowMs = 0;
  #orderCount = 0;
  readonly #heap: Appointment[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, happen: () => void): Appointment {
    return this.at(this.#nowMs + delayMs, happen);
  }

  at(at: number, happen: () => void): Appointment {
    this.#orderCount += 1;
    const appointment = { at: Math.max(at, this.#nowMs), order: this.#orderCount, happen, isCancelled: false };
    let index = this.#heap.length;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex] as Appointment;
      if (!isBefore(appointment, parent)) break;
      this.#heap[index] = parent;
      index = parentIndex;
    }
    this.#heap[index] = appointment;
    return appointment;
  }

  /** Lets the next thing happen; false when nothing is left. */
  step(): boolean {
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      if (next.isCancelled) continue;
      this.#nowMs = next.at;
      next.happen();
      return true;
    }
    return false;
  }

  #take(): Appointment | undefined {
    const next = this.#heap[0];
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return next;
  }

  #sink(appointment: Appointment): void {
    let index = 0;
    for (;;) {
      let childIndex = 2 * index + 1;
      let child = this.#heap[childIndex];
      if (child === undefined) break;
      const sibling = this.#heap[childIndex + 1];
      if (sibling !== undefined && isBefore(sibling, child)) {
        child = sibling;
        childIndex += 1;
      }
      if (!isBefore(child, appointment)) break;
      this.#heap[index] = child;
      index = childIndex;
    }
    this.#heap[index] = appointment;
  }
}

function isBefore(left: Appointment, right: Appointment): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}
