/** Schedulers that are wrong about workers that run many batches at once. */
import type { RequestId, SchedulerAction, SchedulerEvent, SchedulerOptions, WorkerId } from '@millrace/core';
import type { SimulatedScheduler } from '../referees/scheduler/judged-scheduler.ts';
import { BentScheduler, Misreading, Watching } from './bent-scheduler.ts';

/** Never treats a request as the possible cause of a worker's death. */
class BlamesNobody extends Watching {
  override handle(event: SchedulerEvent, nowMs: number): void {
    const held = event.kind === 'worker-gone' ? this.heldBy.get(event.worker) : undefined;
    for (const batch of held ?? [])
      super.handle({ kind: 'batch-failed', batch, code: 'cancelled', message: '' }, nowMs);
    super.handle(event, nowMs);
  }
}

/** Takes a signal from outside for a crash of the worker's own. */
class TakesKillsForCrashes extends BentScheduler {
  override handle(event: SchedulerEvent, nowMs: number): void {
    super.handle(event.kind === 'worker-gone' ? { ...event, isKilled: false } : event, nowMs);
  }
}

/** Refuses what ran beside a batch that ran too long, as if all of it had. */
class BlamesBystanders extends BentScheduler {
  readonly #held = new Map<WorkerId, RequestId[]>();
  readonly #killed = new Set<WorkerId>();
  readonly #refused: SchedulerAction[] = [];

  override handle(event: SchedulerEvent, nowMs: number): void {
    if (event.kind === 'worker-gone') this.#blame(event.worker, nowMs);
    super.handle(event, nowMs);
  }

  override takeActions(): readonly SchedulerAction[] {
    return [...super.takeActions(), ...this.#refused.splice(0)];
  }

  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    if (action.kind === 'dispatch') {
      this.#held.set(action.worker, [...(this.#held.get(action.worker) ?? []), ...action.requests]);
    } else if (action.kind === 'deliver' || action.kind === 'refuse') {
      const ended = action.kind === 'deliver' ? action.requests : [action.request];
      for (const [worker, held] of this.#held)
        this.#held.set(
          worker,
          held.filter((one) => !ended.includes(one)),
        );
    } else if (action.kind === 'kill-worker') this.#killed.add(action.worker);
    return action;
  }

  #blame(worker: WorkerId, nowMs: number): void {
    const [, ...beside] = this.#held.get(worker) ?? [];
    this.#held.delete(worker);
    if (!this.#killed.delete(worker)) return;
    for (const request of beside) {
      super.handle({ kind: 'request-cancelled', request, reason: 'cancelled' }, nowMs);
      const isOut = super.takeActions().some((action) => action.kind === 'refuse');
      if (isOut) this.#refused.push({ kind: 'refuse', request, code: 'run-time-limit', message: 'it ran too long' });
    }
  }
}

/** Gives concurrent workers one batch more than they run at once. */
class OverfillsConcurrentWorkers extends BentScheduler {
  readonly #concurrent = new Set<string>();
  readonly #credit = new Map<WorkerId, number>();

  override handle(event: SchedulerEvent, nowMs: number): void {
    super.handle(event, nowMs);
    if (event.kind === 'worker-credit') this.#credit.set(event.worker, event.batchesMax);
    if (event.kind === 'model-added' && event.policy.isConcurrent) this.#concurrent.add(event.model);
    if (event.kind !== 'worker-serves' || !this.#concurrent.has(event.model)) return;
    const batchesMax = (this.#credit.get(event.worker) ?? 0) + 1;
    super.handle({ kind: 'worker-credit', worker: event.worker, batchesMax }, nowMs);
  }
}

export const concurrencyBugs: readonly (readonly [string, (options: SchedulerOptions) => SimulatedScheduler])[] = [
  ['gives a concurrent worker one batch too many', (options) => new OverfillsConcurrentWorkers(options)],
  [
    'takes a concurrent worker for one that runs in turn',
    (options) => new Misreading(options, () => ({ isConcurrent: false })),
  ],
  ['blames nobody for a death', (options) => new BlamesNobody(options)],
  ['takes a kill from outside for a crash', (options) => new TakesKillsForCrashes(options)],
  ['blames what ran beside the one that ran too long', (options) => new BlamesBystanders(options)],
];
