import type { ModelEntry } from '../models/model-entry.ts';
import type { Refusal } from '../requests/refusal.ts';
import type { Batch } from './batch.ts';

/**
 * Runs whose callers read no answers, of models where such runs give way. One that was not read for `unreadMsMax` ends when
 * a request waits that could begin instead: of the same caller, or of any if the worker has no room. So whoever reads its
 * answers is not kept waiting by those of its own address who do not.
 */
export class UnreadRuns {
  /** When one may have to give way, should nothing else happen before; Infinity: none. */
  checkAt = Number.POSITIVE_INFINITY;
  /** In the order in which they became unread. */
  readonly #runs = new Map<ModelEntry, Set<Batch>>();
  /** How many of a model were told to end, and have not ended yet. */
  readonly #leaving = new Map<ModelEntry, number>();

  /** Call it when a caller takes answers again, or takes no more. */
  note(batch: Batch, hasCredit: boolean): void {
    const runs = this.#runs.get(batch.model);
    if (hasCredit || batch.hasGivenWay) runs?.delete(batch);
    else if (runs !== undefined) runs.add(batch);
    else if (batch.model.policy.unreadMsMax !== Number.POSITIVE_INFINITY) this.#runs.set(batch.model, new Set([batch]));
    if (runs?.size === 0) this.#runs.delete(batch.model);
  }

  /** The batch is no longer in flight. */
  forget(batch: Batch): void {
    this.note(batch, true);
    if (!batch.hasGivenWay) return;
    const left = (this.#leaving.get(batch.model) ?? 0) - 1;
    if (left > 0) this.#leaving.set(batch.model, left);
    else this.#leaving.delete(batch.model);
  }

  /** Those that have to end now, at most one for each waiting request. They count as leaving from now on. */
  takeDue(nowMs: number): readonly Batch[] {
    this.checkAt = Number.POSITIVE_INFINITY;
    if (this.#runs.size === 0) return none;
    const due: Batch[] = [];
    for (const [model, runs] of this.#runs) {
      const leaving = this.#leaving.get(model) ?? 0;
      const chosen = this.#dueOf(model, runs, model.queue.requestCount - leaving, nowMs);
      for (const batch of chosen) {
        batch.hasGivenWay = true;
        runs.delete(batch);
      }
      if (chosen.length > 0) this.#leaving.set(model, leaving + chosen.length);
      due.push(...chosen);
    }
    return due;
  }

  #dueOf(model: ModelEntry, runs: ReadonlySet<Batch>, most: number, nowMs: number): readonly Batch[] {
    const chosen: Batch[] = [];
    if (most <= 0) return chosen;
    const waiting = model.queue.callers();
    for (const batch of runs) {
      if (chosen.length === most) break;
      const dueAt = batch.unreadSince + model.policy.unreadMsMax;
      if (dueAt > nowMs) {
        if (dueAt < this.checkAt) this.checkAt = dueAt;
        break;
      }
      if (batch.liveCount > 0 && (waiting.has(batch.caller) || !batch.worker.hasCredit)) chosen.push(batch);
    }
    return chosen;
  }
}

const none: readonly Batch[] = [];

export function unreadRefusal({ model }: Batch): Refusal {
  const message = `no answer of this request was read for ${model.policy.unreadMsMax} ms while other requests waited for ${model.key}, so it was ended; read its answers as they come, or send fewer requests at once`;
  return { code: 'caller-full', message };
}
