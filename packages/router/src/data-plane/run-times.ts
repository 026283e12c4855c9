/** How long the runs of a model took. */
export class RunTimes {
  runs = 0;
  shortestMicros = Number.POSITIVE_INFINITY;
  #busyMicros = 0;

  add(micros: number): void {
    this.runs += 1;
    this.#busyMicros += micros;
    if (micros < this.shortestMicros) this.shortestMicros = micros;
  }

  /** All runs since the last call together. */
  takeBusyMs(): number {
    const busyMs = this.#busyMicros / 1000;
    this.#busyMicros = 0;
    return busyMs;
  }
}
