/**
 * A scheduler that is watched: the shell drives it as it drives core's, and every event and action passes the referee. The
 * shell uses the ids of requests again; the referee and the trace number them anew.
 */
import {
  type ArrivedRequest,
  formatAction,
  formatEvent,
  type InstanceSnapshot,
  type ModelKey,
  type QueueSnapshot,
  type RequestId,
  type Scheduler,
  type SchedulerAction,
  type SchedulerEvent,
} from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';
import type { DrivenScheduler } from '@millrace/router/internal';
import type { SimulatedWorld } from '../../world/simulated-world.ts';
import type { SchedulerReferee } from './scheduler-referee.ts';

/** The part of a scheduler that the simulation needs, so that one with a planted bug can replace it. */
export type SimulatedScheduler = Pick<
  Scheduler,
  'handle' | 'pump' | 'takeActions' | 'counts' | 'instances' | 'queues' | 'waitingFor' | 'isIdle'
>;

/** What others want to know of what passes. */
export interface SchedulerWitness {
  /** A request is put into the queue of a model. */
  arrives(model: ModelKey): void;
  /** A request that had been put there is refused. */
  refused(model: ModelKey, code: ErrorCode, request: number): void;
  removes(model: ModelKey): void;
  /** It has had so many requests before. */
  adds(model: ModelKey, requestCount: number): void;
}

export class JudgedScheduler implements DrivenScheduler {
  readonly #world: SimulatedWorld;
  readonly #inner: SimulatedScheduler;
  readonly #referee: SchedulerReferee;
  readonly #witness: SchedulerWitness;
  readonly #actions: SchedulerAction[] = [];
  /** By the shell's id: its number, and the model that it is for. */
  readonly #numbers = new Map<RequestId, { readonly number: number; readonly model: ModelKey }>();
  #requestCount = 0;
  eventCount = 0;

  constructor(world: SimulatedWorld, inner: SimulatedScheduler, referee: SchedulerReferee, witness: SchedulerWitness) {
    this.#world = world;
    this.#inner = inner;
    this.#referee = referee;
    this.#witness = witness;
  }

  admit(arrived: ArrivedRequest, nowMs: number): void {
    const { request, model, rows, bytes, group, deadlineAt, caller, priority, queueTimeoutMs, isAlone } = arrived;
    const copy = { request, model, rows, bytes, group, deadlineAt, caller, priority, queueTimeoutMs, isAlone };
    this.#requestCount += 1;
    this.#numbers.set(request, { number: this.#requestCount, model });
    this.#world.judge(() => this.#witness.arrives(model));
    this.handle({ kind: 'request-arrived', request: copy }, nowMs);
  }

  handle(event: SchedulerEvent, nowMs: number): void {
    const world = this.#world;
    this.eventCount += 1;
    world.count(event.kind === 'batch-failed' ? `failed: ${event.code}` : event.kind);
    if (event.kind === 'model-removed') world.judge(() => this.#witness.removes(event.model));
    if (event.kind === 'model-added') world.judge(() => this.#witness.adds(event.model, this.#requestCount));
    const told = this.#numberedEvent(event);
    world.line(() => formatEvent(told));
    this.#inner.handle(event, nowMs);
    const actions = this.#take();
    world.judge(() => this.#referee.afterEvent(told, actions, nowMs));
    for (const action of actions) this.#noteRefusal(action);
  }

  pump(nowMs: number): void {
    const world = this.#world;
    world.line(() => 'pump');
    this.#inner.pump(nowMs);
    const actions = this.#take();
    world.judge(() => this.#referee.afterPump(actions, nowMs));
    for (const { breaker } of this.#inner.instances(nowMs))
      if (breaker !== 'closed') world.count(`breaker: ${breaker}`);
  }

  takeActions(): readonly SchedulerAction[] {
    return this.#actions.splice(0);
  }

  instances(nowMs: number): readonly InstanceSnapshot[] {
    return this.#inner.instances(nowMs);
  }

  queues(): readonly QueueSnapshot[] {
    return this.#inner.queues();
  }

  waitingFor(model: ModelKey): number {
    return this.#inner.waitingFor(model);
  }

  isIdle(model: ModelKey): boolean {
    return this.#inner.isIdle(model);
  }

  atEnd(): void {
    this.#referee.atEnd(this.#inner.counts());
  }

  /** The actions of the scheduler, kept for the shell; returned as the referee knows them. */
  #take(): readonly SchedulerAction[] {
    const actions = [...this.#inner.takeActions()];
    this.#actions.push(...actions);
    for (const action of actions) this.#world.count(action.kind === 'refuse' ? `refuse: ${action.code}` : action.kind);
    const told = actions.map((action) => this.#numberedAction(action));
    if (told.length > 0) this.#world.trace?.push('----', ...told.map(formatAction), '');
    return told;
  }

  #noteRefusal(action: SchedulerAction): void {
    if (action.kind !== 'refuse') return;
    const request = [...this.#numbers.values()].find(({ number }) => number === action.request);
    if (request !== undefined)
      this.#world.judge(() => this.#witness.refused(request.model, action.code, request.number));
  }

  #numberedEvent(event: SchedulerEvent): SchedulerEvent {
    if (event.kind === 'request-cancelled') return { ...event, request: this.#numberOf(event.request) };
    if (event.kind !== 'request-arrived') return event;
    return { ...event, request: { ...event.request, request: this.#numberOf(event.request.request) } };
  }

  #numberedAction(action: SchedulerAction): SchedulerAction {
    if (action.kind === 'refuse') return { ...action, request: this.#numberOf(action.request) };
    if (action.kind !== 'dispatch' && action.kind !== 'deliver') return action;
    return { ...action, requests: action.requests.map((request) => this.#numberOf(request)) };
  }

  #numberOf(request: RequestId): number {
    return this.#numbers.get(request)?.number ?? -1 - request;
  }
}
