/** Schedulers with one bug each. A simulation that finds none of them would prove nothing by finding none in ours. */

import type {
  ArrivedRequest,
  ModelPolicy,
  QueuePolicy,
  Scheduler,
  SchedulerAction,
  SchedulerEvent,
  SchedulerOptions,
} from '@millrace/core';
import type { SimulatedScheduler } from '../referees/scheduler/judged-scheduler.ts';
import { BentScheduler, Misreading, Watching } from './bent-scheduler.ts';
import { concurrencyBugs } from './concurrency-bugs.ts';

class DeliversTwice extends BentScheduler {
  #deliveryCount = 0;

  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    if (action.kind !== 'deliver') return action;
    this.#deliveryCount += 1;
    return this.#deliveryCount % 10 === 0 ? [action, action] : action;
  }
}

class GivesOneBatchTooMany extends BentScheduler {
  override handle(event: SchedulerEvent, nowMs: number): void {
    const isCredit = event.kind === 'worker-credit';
    super.handle(isCredit ? { ...event, batchesMax: event.batchesMax + 1 } : event, nowMs);
  }
}

class NeverAsksToBeWoken extends BentScheduler {
  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    return action.kind === 'wake-at' ? [] : action;
  }
}

class SleepsThroughSomePumps extends BentScheduler {
  #pumpCount = 0;

  override pump(nowMs: number): void {
    this.#pumpCount += 1;
    if (this.#pumpCount % 10 !== 0) super.pump(nowMs);
  }
}

class RefusesRetriesByAnotherName extends BentScheduler {
  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    return action.kind === 'refuse' && action.code === 'poison-request' ? { ...action, code: 'worker-lost' } : action;
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

/** Understands a request wrongly. */
class Mishearing extends BentScheduler {
  readonly #mishear: (request: ArrivedRequest) => Partial<ArrivedRequest>;

  constructor(options: SchedulerOptions, mishear: (request: ArrivedRequest) => Partial<ArrivedRequest>) {
    super(options);
    this.#mishear = mishear;
  }

  override handle(event: SchedulerEvent, nowMs: number): void {
    const isArrival = event.kind === 'request-arrived';
    super.handle(
      isArrival ? { ...event, request: { ...event.request, ...this.#mishear(event.request) } } : event,
      nowMs,
    );
  }
}

/** As servers that check their queue only when an instance is free. */
class SeesTimeoutsOnlyWhenAWorkerIsFree extends BentScheduler {
  override takeActions(): readonly SchedulerAction[] {
    const actions = super.takeActions();
    if (actions.some(({ kind }) => kind === 'dispatch')) return actions;
    return actions.filter((action) => action.kind !== 'refuse' || action.code !== 'queue-timeout');
  }
}

class TellsIdleTooEarly extends BentScheduler {
  readonly #early: SchedulerAction[] = [];

  override handle(event: SchedulerEvent, nowMs: number): void {
    super.handle(event, nowMs);
    if (event.kind === 'model-retired') this.#early.push({ kind: 'model-idle', model: event.model });
  }

  override takeActions(): readonly SchedulerAction[] {
    const actions = super.takeActions().filter(({ kind }) => kind !== 'model-idle');
    return [...actions, ...this.#early.splice(0)];
  }
}

class DeliversTheFirstLast extends BentScheduler {
  protected override bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    const [first, ...rest] = action.kind === 'deliver' ? action.requests : [];
    if (action.kind !== 'deliver' || first === undefined || rest.length === 0) return action;
    // The parts of a batch in the wrong order.
    return [
      { ...action, requests: rest },
      { ...action, requests: [first] },
    ];
  }
}

const withQueues = (policy: ModelPolicy, queue: Partial<QueuePolicy>): Partial<ModelPolicy> => ({
  queues: policy.queues.map((written) => ({ ...written, ...queue })),
});
const longerDelay = ({ delayMs }: ModelPolicy) => ({ delayMs: delayMs * 1e6 });
const waitsForFullBatch = ({ preferredRows, rowsMax }: ModelPolicy) => ({ preferredRows: [...preferredRows, rowsMax] });
const neverDelays = (policy: ModelPolicy) => withQueues(policy, { timeoutAction: 'refuse' });
const unboundedLevels = (policy: ModelPolicy) => withQueues(policy, { requestsMax: Infinity });
class KnowsNoReservations extends BentScheduler {
  override handle(event: SchedulerEvent, nowMs: number): void {
    super.handle(event.kind === 'worker-serves' ? { ...event, priorityMax: Infinity } : event, nowMs);
  }
}

class HidesItsBreakers extends BentScheduler {
  override instances(nowMs: number): ReturnType<Scheduler['instances']> {
    return super.instances(nowMs).map((instance) => ({ ...instance, breaker: 'closed' }));
  }
}

class SuspectsEverybody extends BentScheduler {
  override instances(nowMs: number): ReturnType<Scheduler['instances']> {
    return super.instances(nowMs).map((instance) => ({ ...instance, breaker: 'open' }));
  }
}

/** As if nothing had to be finished. */
class DropsWhatWaitsForTheRetired extends BentScheduler {
  override handle(event: SchedulerEvent, nowMs: number): void {
    super.handle(event, nowMs);
    if (event.kind === 'model-retired') super.handle({ kind: 'model-removed', model: event.model }, nowMs);
  }
}

const lastLevel = ({ priority }: ArrivedRequest) => ({ priority: Math.min(priority, 3) });

export const schedulerBugs: ReadonlyMap<string, (options: SchedulerOptions) => SimulatedScheduler> = new Map([
  ['delivers an answer twice', (options) => new DeliversTwice(options)],
  ['gives a worker one batch too many', (options) => new GivesOneBatchTooMany(options)],
  ['never asks to be woken', (options) => new NeverAsksToBeWoken(options)],
  ['sleeps through some pumps', (options) => new SleepsThroughSomePumps(options)],
  ['refuses poison by another name', (options) => new RefusesRetriesByAnotherName(options)],
  ['forgets the second batch of a dead worker', (options) => new ForgetsTheSecondBatchOfTheDead(options)],
  ['forgets the neighbour of a cancelled request', (options) => new ForgetsTheNeighbourOfTheCancelled(options)],
  ['forgets the batch that it holds back', (options) => new Misreading(options, longerDelay)],
  ['never holds a batch back', (options) => new Misreading(options, () => ({ delayMs: 0 }))],
  ['does not know preferred sizes', (options) => new Misreading(options, () => ({ preferredRows: [] }))],
  ['holds back what is over the largest preferred size', (options) => new Misreading(options, waitsForFullBatch)],
  ['does not keep answers in order', (options) => new Misreading(options, () => ({ isOrdered: false }))],
  ['delivers the first of a batch last', (options) => new DeliversTheFirstLast(options)],
  ['does not know priorities', (options) => new Mishearing(options, () => ({ priority: 0 }))],
  ['takes a level that does not exist for the last one', (options) => new Mishearing(options, lastLevel)],
  ['sees timeouts only when a worker is free', (options) => new SeesTimeoutsOnlyWhenAWorkerIsFree(options)],
  ['refuses who should be delayed', (options) => new Misreading(options, neverDelays)],
  [
    'does not hear how long a request wants to wait',
    (options) => new Mishearing(options, () => ({ queueTimeoutMs: Infinity })),
  ],
  ['lets requests that must run alone share', (options) => new Mishearing(options, () => ({ isAlone: false }))],
  ['has no bound on a level', (options) => new Misreading(options, unboundedLevels)],
  ['serves callers in the order of arrival', (options) => new Mishearing(options, () => ({ caller: '' }))],
  [
    'gives each request of a caller its own turn',
    (options) => new Mishearing(options, ({ request }) => ({ caller: `${request}` })),
  ],
  ['takes weights the wrong way round', (options) => new Misreading(options, ({ weight }) => ({ weight: 1 / weight }))],
  ['gives a worker work that it is too good for', (options) => new KnowsNoReservations(options)],
  [
    'lets a caller have one too many',
    (options) => new BentScheduler({ ...options, callerRequestsMax: (options.callerRequestsMax ?? 0) + 1 }),
  ],
  ['opens breakers and does not say so', (options) => new HidesItsBreakers(options)],
  ['opens no breakers and says so', (options) => new SuspectsEverybody(options)],
  ['says too early that a retired model is idle', (options) => new TellsIdleTooEarly(options)],
  ...concurrencyBugs,
  ['drops what waits for a model that retires', (options) => new DropsWhatWaitsForTheRetired(options)],
]);
