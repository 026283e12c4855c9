/** Decides when a stream is checkpointed: after so many inputs, or so long after the first of them. */
import type { StreamMachineConfig } from './stream-machine-config.ts';

export class CheckpointClock {
  readonly #config: StreamMachineConfig;
  #finishedInputs = 0;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(config: StreamMachineConfig) {
    this.#config = config;
  }

  /** Infinity: nothing has changed since the last one. */
  get dueAt(): number {
    return this.#dueAt;
  }

  get hasProgress(): boolean {
    return this.#finishedInputs > 0;
  }

  noteFinished(nowMs: number): void {
    this.#finishedInputs += 1;
    this.#dueAt = Math.min(this.#dueAt, nowMs + this.#config.checkpointMsMax);
  }

  isDue(nowMs: number): boolean {
    return this.#finishedInputs >= this.#config.checkpointInputsMax || nowMs >= this.#dueAt;
  }

  noteCheckpoint(): void {
    this.#finishedInputs = 0;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }
}
