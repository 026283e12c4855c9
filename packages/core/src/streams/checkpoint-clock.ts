/** The time of a stream, and when it is checkpointed: after so many inputs, or so long after the first of them. */
import type { StreamMachineConfig } from './stream-machine-config.ts';

export class CheckpointClock {
  /** The time of the last event. */
  nowMs: number;
  readonly #config: StreamMachineConfig;
  #finishedInputs = 0;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(config: StreamMachineConfig, nowMs: number) {
    this.#config = config;
    this.nowMs = nowMs;
  }

  /** Infinity: nothing has changed since the last one. */
  get dueAt(): number {
    return this.#dueAt;
  }

  get hasProgress(): boolean {
    return this.#finishedInputs > 0;
  }

  noteFinished(): void {
    this.#finishedInputs += 1;
    this.#dueAt = Math.min(this.#dueAt, this.nowMs + this.#config.checkpointMsMax);
  }

  get isDue(): boolean {
    return this.#finishedInputs >= this.#config.checkpointInputsMax || this.nowMs >= this.#dueAt;
  }

  noteCheckpoint(): void {
    this.#finishedInputs = 0;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }
}
