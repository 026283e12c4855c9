/** The outputs of one stream: their numbers, which of them are durable, and which are kept for a resume. */
import type { OutputEntry, SizedPayload } from './stream-entries.ts';

/** Of streams that have had no output: most are idle, and an empty list of its own takes memory too. */
const none: never[] = [];

export class OutputLog<Payload extends SizedPayload> {
  /** Those after `#forgotten`, without gaps; the first is at `#head`. */
  #retained: OutputEntry<Payload>[];
  #head = 0;
  #retainedBytes = 0;
  /** Outputs up to this one are not kept any more. */
  #forgotten: number;
  #last: number;
  #durable: number;
  #acknowledged: number;
  /** Bytes of all outputs that were numbered by this machine or kept when it began. */
  #bytesInAll = 0;
  /** Entry numbers of the outputs after `#durable`. */
  #entryNumbers: number[] = none;

  constructor(retained: readonly OutputEntry<Payload>[], last: number, acknowledged: number) {
    this.#retained = retained.length === 0 ? none : [...retained];
    for (const output of retained) this.#retainedBytes += bytesOf(output);
    this.#bytesInAll = this.#retainedBytes;
    this.#forgotten = last - retained.length;
    this.#last = last;
    this.#durable = last;
    this.#acknowledged = acknowledged;
  }

  get last(): number {
    return this.#last;
  }

  get durable(): number {
    return this.#durable;
  }

  get acknowledged(): number {
    return this.#acknowledged;
  }

  get forgotten(): number {
    return this.#forgotten;
  }

  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  get bytesInAll(): number {
    return this.#bytesInAll;
  }

  get retainedCount(): number {
    return this.#retained.length - this.#head;
  }

  retained(): readonly OutputEntry<Payload>[] {
    return this.#retained.slice(this.#head);
  }

  /** Undefined: it is not kept any more, or does not exist yet. */
  take(sequence: number): OutputEntry<Payload> | undefined {
    return sequence <= this.#forgotten ? undefined : this.#retained[this.#head + sequence - this.#forgotten - 1];
  }

  /** Bytes of the outputs after this one that are kept. */
  bytesAfter(sequence: number): number {
    let bytes = 0;
    for (let next = Math.max(sequence, this.#forgotten) + 1; next <= this.#last; next++) {
      bytes += bytesOf(this.take(next) as OutputEntry<Payload>);
    }
    return bytes;
  }

  /** Adds the next output, which is the entry of this number in the journal. */
  add(output: OutputEntry<Payload>, entryNumber: number): void {
    if (this.#retained === none) this.#retained = [];
    if (this.#entryNumbers === none) this.#entryNumbers = [];
    this.#retained.push(output);
    this.#entryNumbers.push(entryNumber);
    this.#last = output.sequence;
    const bytes = bytesOf(output);
    this.#retainedBytes += bytes;
    this.#bytesInAll += bytes;
  }

  /** Entries up to this number are durable. */
  commit(entryNumber: number): void {
    let count = 0;
    while ((this.#entryNumbers[count] ?? Number.POSITIVE_INFINITY) <= entryNumber) count += 1;
    if (count === 0) return;
    this.#entryNumbers.splice(0, count);
    this.#durable += count;
  }

  /** Takes back the outputs that are not durable. */
  rollBack(): void {
    while (this.#last > this.#durable) {
      const bytes = bytesOf(this.#retained.pop() as OutputEntry<Payload>);
      this.#retainedBytes -= bytes;
      this.#bytesInAll -= bytes;
      this.#last -= 1;
    }
    this.#entryNumbers = none;
  }

  acknowledge(sequence: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, sequence);
    while (this.#forgotten < this.#acknowledged && this.retainedCount > 0) this.#forgetFirst();
  }

  /** Keeps the last outputs within the limits, and all after this one. */
  forgetBeyond(outputsMax: number, bytesMax: number, handled: number): void {
    while (
      this.retainedCount > 1 &&
      this.#forgotten < handled &&
      (this.retainedCount > outputsMax || this.#retainedBytes > bytesMax)
    ) {
      this.#forgetFirst();
    }
  }

  #forgetFirst(): void {
    this.#retainedBytes -= bytesOf(this.#retained[this.#head] as OutputEntry<Payload>);
    this.#forgotten += 1;
    this.#head += 1;
    // Moving what is left costs less than once an output.
    if (this.#head * 2 < this.#retained.length) return;
    this.#retained = this.#retained.slice(this.#head);
    this.#head = 0;
  }
}

function bytesOf(output: OutputEntry<SizedPayload>): number {
  return output.payload?.byteLength ?? 0;
}
