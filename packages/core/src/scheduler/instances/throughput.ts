import type { InstanceEntry } from './instance-entry.ts';

/** The total throughput of a model's instances per millisecond, kept up to date so that reading it is free. */
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
    // Rounding errors add up over millions of batches; they are reset when no instance is left.
    if (this.#measuredCount === 0) this.#rowsPerMs = 0;
  }

  /** An instance ran a batch. `rows`: the size of its batches under load. */
  measure(instance: InstanceEntry, rows: number): void {
    const runMs = instance.speed.runMs(rows);
    if (!(runMs > 0)) return;
    this.#count(instance, -1);
    instance.rowsPerMs = rows / runMs;
    this.#count(instance, 1);
  }

  /** Of all instances; those not measured yet count like the average of the others; 0 when none was. */
  get rowsPerMs(): number {
    return this.#measuredCount === 0 ? 0 : (this.#rowsPerMs * this.#instanceCount) / this.#measuredCount;
  }

  #count(instance: InstanceEntry, sign: 1 | -1): void {
    if (instance.rowsPerMs === 0) return;
    this.#rowsPerMs += sign * instance.rowsPerMs;
    this.#measuredCount += sign;
  }
}
