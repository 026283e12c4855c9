/** Who may be given work: what the scheduler says of its breakers, held against what the ledger knows. */
import type { InstanceSnapshot } from '@millrace/core';
import type { Ledger, LedgerModel, LedgerWorker } from './ledger.ts';

export class Trust {
  readonly #ledger: Ledger;
  readonly #said = new Map<string, InstanceSnapshot>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** What the scheduler says now; returns what is wrong with it. */
  hear(snapshots: readonly InstanceSnapshot[]): string | undefined {
    this.#said.clear();
    for (const snapshot of snapshots) this.#said.set(`${snapshot.worker} ${snapshot.model}`, snapshot);
    const { breaker: limits } = this.#ledger.limits;
    const failuresMin = Math.min(limits.consecutiveMax, Math.ceil(limits.batchesMin * limits.failureShareMax));
    for (const worker of this.#ledger.workers.values()) {
      for (const model of worker.models) {
        const said = this.#said.get(`${worker.id} ${model.key}`);
        if (said === undefined) return `the scheduler does not know that worker ${worker.id} serves ${model.key}`;
        const failures = this.#ledger.failures.get(`${worker.id} ${model.key}`) ?? 0;
        if (said.breaker === 'closed' || failures >= failuresMin) continue;
        return `worker ${worker.id} is ${said.breaker} for ${model.key} after ${failures} failures`;
      }
    }
    return this.#said.size === this.#served() ? undefined : 'the scheduler knows instances that are not there';
  }

  /** Those with room that may be given the most urgent work of the model now. */
  freeFor(model: LedgerModel): LedgerWorker[] {
    const level = this.#ledger.urgentLevel(model);
    const needsIdle = this.#ledger.isSuspectNext(model);
    const free = this.#ledger.freeFor(model, level).filter(({ outstanding }) => !needsIdle || outstanding.length === 0);
    const isAnyTrusted = [...this.#ledger.workers.values()].some(
      (worker) =>
        this.#ledger.takes(worker, model, level) &&
        worker.batchesMax > 0 &&
        !worker.isCondemned &&
        this.#stateOf(worker, model) === 'closed',
    );
    return isAnyTrusted ? free.filter((worker) => this.#stateOf(worker, model) !== 'open') : free;
  }

  /** A half-open one that has a batch may be left alone until that batch has ended. */
  mustWork(worker: LedgerWorker, model: LedgerModel): boolean {
    return this.#stateOf(worker, model) !== 'half-open' || worker.outstanding.length === 0;
  }

  isTrusted(worker: LedgerWorker, model: LedgerModel): boolean {
    return this.#stateOf(worker, model) === 'closed';
  }

  #stateOf(worker: LedgerWorker, model: LedgerModel): InstanceSnapshot['breaker'] {
    return this.#said.get(`${worker.id} ${model.key}`)?.breaker ?? 'closed';
  }

  #served(): number {
    return [...this.#ledger.workers.values()].reduce((sum, worker) => sum + worker.models.size, 0);
  }
}

/** Whether a refusal for a long wait can be right: by the slowest batch ever seen, with every row ahead in one of its own. */
export function mayWaitTooLong(ledger: Ledger, model: LedgerModel, deadlineAt: number, nowMs: number): boolean {
  const limitMs = Math.min(deadlineAt - nowMs, model.policy.waitMsMax);
  const running = [...ledger.batches.values()].filter((batch) => batch.model === model);
  const requests = [...model.waiting, ...running.flatMap((batch) => batch.requests)];
  const rows = requests.reduce((sum, request) => sum + request.arrived.rows, 0);
  return rows * model.longestMs > limitMs;
}
