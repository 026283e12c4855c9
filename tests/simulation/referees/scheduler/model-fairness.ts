import type { Ledger, LedgerBatch, LedgerModel, LedgerWorker } from './ledger.ts';
import type { Trust } from './trust.ts';

/**
 * The bound on unfairness between models. Take two models that one worker alone serves, and a span in which both always
 * have something waiting, neither asks for a delay, their policies stay and the worker is trusted with both. In such a
 * span, the times that the worker spent on batches dispatched in it, divided by the models' weights, never differ by
 * more than
 *
 *   2 x (2 x quantum + (K + 1) x R / w)
 *
 * where the quantum is 10 ms, K is how many batches the worker may hold, R is the longest run so far and w the smaller
 * weight. Both get the same rounds; each may be ahead by a quantum and by what K batches in its hands and the next one
 * turn out to cost beyond what was foreseen, at the beginning of the span and at its end.
 */
export class ModelFairness {
  readonly #ledger: Ledger;
  readonly #trust: Trust;
  readonly #spans = new Map<string, Span>();
  #runMsMax = 0;

  constructor(ledger: Ledger, trust: Trust) {
    this.#ledger = ledger;
    this.#trust = trust;
  }

  noteDispatch(batch: LedgerBatch): void {
    for (const { models, batches } of this.#spans.values()) if (models.includes(batch.model)) batches.add(batch);
  }

  /** The longest run counts also when its worker died of it. */
  noteRun(ranMs: number): void {
    this.#runMsMax = Math.max(this.#runMsMax, ranMs);
  }

  /** A batch has ended. Says what is wrong with that; undefined when nothing is. */
  takeFault(batch: LedgerBatch, ranMs: number): string | undefined {
    this.noteRun(ranMs);
    for (const span of this.#spans.values()) {
      if (!span.batches.delete(batch)) continue;
      const [first, second] = span.models;
      span.leadMs += ((batch.model === first ? 1 : -1) * ranMs) / batch.model.policy.weight;
      const weight = Math.min(first.policy.weight, second.policy.weight);
      const boundMs = 2 * (2 * quantumMs + ((span.batchesMax + 1) * this.#runMsMax) / weight);
      if (Math.abs(span.leadMs) <= boundMs) continue;
      return `${first.key} is ${span.leadMs} ms ahead of ${second.key} on worker ${span.worker.id}, over ${boundMs}`;
    }
    return undefined;
  }

  /** To be called after whatever changed: spans begin and end. */
  review(changed?: string): void {
    for (const worker of this.#ledger.workers.values()) {
      if (worker.models.size < 2) continue;
      const models = [...worker.models].filter((model) => model.key !== changed && this.#isWanting(model, worker));
      for (const [index, first] of models.entries()) {
        for (const second of models.slice(index + 1)) {
          const key = `${first.key} ${second.key}`;
          const span = this.#spans.get(key);
          if (span !== undefined) span.batchesMax = Math.max(span.batchesMax, worker.batchesMax);
          else this.#spans.set(key, spanOf(first, second, worker));
        }
      }
    }
    for (const [key, { models, worker }] of this.#spans) {
      const isGoingOn = models.every((model) => model.key !== changed && this.#isWanting(model, worker));
      if (!isGoingOn) this.#spans.delete(key);
    }
  }

  #isWanting(model: LedgerModel, worker: LedgerWorker): boolean {
    const servers = [...this.#ledger.workers.values()].filter((other) => other.models.has(model));
    const isSole = servers.length === 1 && servers[0] === worker;
    const isAble = worker.batchesMax > 0 && !worker.isCondemned && this.#trust.isTrusted(worker, model);
    return isSole && isAble && model.waiting.length > 0 && model.policy.delayMs === 0;
  }
}

interface Span {
  readonly models: readonly [LedgerModel, LedgerModel];
  readonly worker: LedgerWorker;
  /** Dispatched in the span, and not yet ended. */
  readonly batches: Set<LedgerBatch>;
  batchesMax: number;
  /** Weighted worker time by which the first is ahead. */
  leadMs: number;
}

const quantumMs = 10;

function spanOf(first: LedgerModel, second: LedgerModel, worker: LedgerWorker): Span {
  return { models: [first, second], worker, batches: new Set(), batchesMax: worker.batchesMax, leadMs: 0 };
}
