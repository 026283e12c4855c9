/**
 * A model under full load for the controller's tests and its plot: instances that run one batch after the other, each
 * with the next one waiting behind it, on a machine with so many cores. Time is virtual.
 */
import type { AdaptiveBatching } from '../adaptive/adaptive-batching.ts';

export interface SimulatedModel {
  /** Milliseconds of a run with one core to itself. */
  readonly runMs: number;
  readonly rowMs: number;
  readonly cores: number;
}

export interface SimulatedBatch {
  readonly endedAt: number;
  readonly rows: number;
  /** From dispatch to answer. */
  readonly latencyMs: number;
}

interface SimulatedInstance {
  freeAt: number;
  /** When the batch behind the running one was dispatched. */
  dispatchedAt: number;
}

export class FullLoad {
  readonly #random: () => number;
  readonly #instances: SimulatedInstance[] = [];
  nowMs = 0;

  /** `random` in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** The next batch that ends; the controller is told of it when there is one. */
  step(model: SimulatedModel, rows: number, instances: number): SimulatedBatch {
    while (this.#instances.length > instances) this.#instances.pop();
    while (this.#instances.length < instances) this.#instances.push({ freeAt: this.nowMs, dispatchedAt: this.nowMs });
    let next = this.#instances[0] as SimulatedInstance;
    for (const instance of this.#instances) if (instance.freeAt < next.freeAt) next = instance;
    const contention = Math.max(1, instances / model.cores);
    // A tenth of noise, and one run in two hundred that something else delays.
    const noise = 0.95 + 0.1 * this.#random() + (this.#random() < 0.005 ? 0.3 : 0);
    const startedAt = Math.max(next.freeAt, this.nowMs);
    const endedAt = startedAt + (model.runMs + model.rowMs * rows) * contention * noise;
    const latencyMs = endedAt - next.dispatchedAt;
    next.dispatchedAt = startedAt;
    next.freeAt = endedAt;
    this.nowMs = Math.max(this.nowMs, startedAt);
    return { endedAt, rows, latencyMs };
  }

  /** Runs for so long with the sizes that the controller chooses; tells each batch. */
  run(model: SimulatedModel, controller: AdaptiveBatching, untilMs: number, onBatch: (batch: SimulatedBatch) => void) {
    while (this.nowMs < untilMs) {
      const batch = this.step(model, controller.rows, controller.instances);
      controller.noteBatch(batch.rows, batch.latencyMs, batch.endedAt);
      onBatch(batch);
    }
  }
}

/** The best of all fixed choices: rows in a millisecond, with batches that take at most `budgetMs` from dispatch to answer. */
export function bestFixed(model: SimulatedModel, rowsMax: number, instancesMax: number, budgetMs: number) {
  let best = { rows: 1, instances: 1, rowsPerMs: 0 };
  for (let instances = 1; instances <= instancesMax; instances++) {
    for (let rows = 1; rows <= rowsMax; rows++) {
      const runMs = (model.runMs + model.rowMs * rows) * Math.max(1, instances / model.cores);
      const rowsPerMs = (instances * rows) / runMs;
      if (2 * runMs <= budgetMs && rowsPerMs > best.rowsPerMs) best = { rows, instances, rowsPerMs };
    }
  }
  return best;
}
