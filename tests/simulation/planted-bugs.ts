/** Schedulers with one bug each. A simulation that finds none of them would prove nothing by finding none in ours. */

import type { SchedulerOptions } from '@millrace/core';
import { type BatchId, Scheduler, type SchedulerAction, type SchedulerEvent, type WorkerId } from '@millrace/core';
import type { SimulatedScheduler } from './router.ts';

/** A right scheduler behind a wrong layer: each bug bends what goes in or what comes out. */
class Layer implements SimulatedScheduler {
  protected readonly inner: Scheduler;

  constructor(options: SchedulerOptions) {
    this.inner = new Scheduler(options);
  }

  handle(event: SchedulerEvent, nowMs: number): void {
    this.inner.handle(event, nowMs);
  }

  pump(nowMs: number): void {
    this.inner.pump(nowMs);
  }

  takeActions(): readonly SchedulerAction[] {
    return this.inner.takeActions().flatMap((action) => this.bend(action));
  }

  counts(): ReturnType<Scheduler['counts']> {
    return this.inner.counts();
  }

  protected bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    return action;
  }
}

class DeliversTwice extends Layer {
  #deliveryCount = 0;

  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    if (action.kind !== 'deliver') return action;
    this.#deliveryCount += 1;
    return this.#deliveryCount % 10 === 0 ? [action, action] : action;
  }
}

class GivesOneBatchTooMany extends Layer {
  override handle(event: SchedulerEvent, nowMs: number): void {
    const isCredit = event.kind === 'worker-credit';
    super.handle(isCredit ? { ...event, batchesMax: event.batchesMax + 1 } : event, nowMs);
  }
}

class NeverAsksToBeWoken extends Layer {
  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    return action.kind === 'wake-at' ? [] : action;
  }
}

class SleepsThroughSomePumps extends Layer {
  #pumpCount = 0;

  override pump(nowMs: number): void {
    this.#pumpCount += 1;
    if (this.#pumpCount % 10 !== 0) super.pump(nowMs);
  }
}

class RefusesRetriesByAnotherName extends Layer {
  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    return action.kind === 'refuse' && action.code === 'poison-request' ? { ...action, code: 'worker-lost' } : action;
  }
}

/** Batches in the order of their dispatch, and what was in them. */
class Watching extends Layer {
  protected readonly sizes = new Map<BatchId, number>();
  protected readonly heldBy = new Map<WorkerId, BatchId[]>();

  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    if (action.kind === 'dispatch') {
      this.sizes.set(action.batch, action.requests.length);
      this.heldBy.set(action.worker, [...(this.heldBy.get(action.worker) ?? []), action.batch]);
    }
    return action;
  }
}

class ForgetsTheSecondBatchOfTheDead extends Watching {
  override handle(event: SchedulerEvent, nowMs: number): void {
    if (event.kind === 'batch-answered' || event.kind === 'batch-failed') {
      for (const [worker, held] of this.heldBy)
        this.heldBy.set(
          worker,
          held.filter((batch) => batch !== event.batch),
        );
    }
    if (event.kind === 'worker-gone') {
      const second = this.heldBy.get(event.worker)?.[1];
      this.heldBy.delete(event.worker);
      if (second !== undefined) {
        // Settled inside, and nobody is told.
        super.handle({ kind: 'batch-answered', batch: second }, nowMs);
        super.takeActions();
      }
    }
    super.handle(event, nowMs);
  }
}

class ForgetsTheNeighbourOfTheCancelled extends Watching {
  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    if (action.kind === 'deliver' && action.requests.length < (this.sizes.get(action.batch) ?? 0)) return [];
    return super.bend(action);
  }
}

export const plantedBugs: ReadonlyMap<string, (options: SchedulerOptions) => SimulatedScheduler> = new Map([
  ['delivers an answer twice', (options) => new DeliversTwice(options)],
  ['gives a worker one batch too many', (options) => new GivesOneBatchTooMany(options)],
  ['never asks to be woken', (options) => new NeverAsksToBeWoken(options)],
  ['sleeps through some pumps', (options) => new SleepsThroughSomePumps(options)],
  ['refuses poison by another name', (options) => new RefusesRetriesByAnotherName(options)],
  ['forgets the second batch of a dead worker', (options) => new ForgetsTheSecondBatchOfTheDead(options)],
  ['forgets the neighbour of a cancelled request', (options) => new ForgetsTheNeighbourOfTheCancelled(options)],
]);
