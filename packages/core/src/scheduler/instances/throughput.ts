import type { InstanceEntry } from './instance-entry.ts';

/** What the instances of a model do together in a millisecond, kept up to date so that asking costs nothing. */
export class Throughput {
  #rowsPerMs = 0;
  #measuredCount = 0;
  #instanceCount = 0;

  add(instance: InstanceEntry): void {
    this.#instanceCount += 1;
    this.#count(instance, 1);
  }

  remove(instance: InstanceEntry): void {
    this.#instanceCount -= 1;
    this.#count(instance, -1);
    // Rounding adds up over millions of batches; when nobody is left it is over.
    if (this.#measuredCount === 0) this.#rowsPerMs = 0;
  }

  /** An instance ran a batch. `rows`: what its batches have when there is enough to do. */
  measure(instance: InstanceEntry, rows: number): void {
    const runMs = instance.speed.runMs(rows);
    if (!(runMs > 0)) return;
    this.#count(instance, -1);
    instance.rowsPerMs = rows / runMs;
    this.#count(instance, 1);
  }

  /** Of all instances, those not measured yet being like the others; 0 when none was. */
  get rowsPerMs(): number {
    return this.#measuredCount === 0 ? 0 : (this.#rowsPerMs * this.#instanceCount) / this.#measuredCount;
  }

  #count(instance: InstanceEntry, sign: 1 | -1): void {
    if (instance.rowsPerMs === 0) return;
    this.#rowsPerMs += sign * instance.rowsPerMs;
    this.#measuredCount += sign;
  }
}
