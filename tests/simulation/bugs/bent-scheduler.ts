/** Base classes of schedulers with a planted bug. */
import {
  type BatchId,
  type ModelPolicy,
  Scheduler,
  type SchedulerAction,
  type SchedulerEvent,
  type SchedulerOptions,
  type WorkerId,
} from '@millrace/core';
import type { SimulatedScheduler } from '../referees/scheduler/judged-scheduler.ts';

/** A correct scheduler behind a faulty layer: each bug changes its events or its actions. */
export class BentScheduler implements SimulatedScheduler {
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

  instances(nowMs: number): ReturnType<Scheduler['instances']> {
    return this.inner.instances(nowMs);
  }

  queues(): ReturnType<Scheduler['queues']> {
    return this.inner.queues();
  }

  waitingFor(model: string): number {
    return this.inner.waitingFor(model);
  }

  isIdle(model: string): boolean {
    return this.inner.isIdle(model);
  }

  protected bend(action: SchedulerAction): SchedulerAction | readonly SchedulerAction[] {
    return action;
  }
}

/** Batches in the order of their dispatch, and what was in them. */
export class Watching extends BentScheduler {
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

/** Understands a model's policy wrongly. */
export class Misreading extends BentScheduler {
  readonly #misread: (policy: ModelPolicy) => Partial<ModelPolicy>;

  constructor(options: SchedulerOptions, misread: (policy: ModelPolicy) => Partial<ModelPolicy>) {
    super(options);
    this.#misread = misread;
  }

  override handle(event: SchedulerEvent, nowMs: number): void {
    const isPolicy = event.kind === 'model-added';
    super.handle(isPolicy ? { ...event, policy: { ...event.policy, ...this.#misread(event.policy) } } : event, nowMs);
  }
}
