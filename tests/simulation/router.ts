/** The part of the data plane: passes events to the scheduler, has every action judged, and carries it out. */
import {
  formatAction,
  formatEvent,
  type ModelKey,
  type RequestId,
  type Scheduler,
  type SchedulerAction,
  type SchedulerEvent,
} from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';
import type { Referee } from './referee.ts';
import type { SimulatedWorker, SimulatedWorld } from './simulated-worker.ts';
import type { Timeline } from './timeline.ts';

/** The part of a scheduler that the simulation needs, so that one with a planted bug can replace it. */
export type SimulatedScheduler = Pick<Scheduler, 'handle' | 'pump' | 'takeActions' | 'counts' | 'instances' | 'isIdle'>;

export class Router {
  readonly #world: SimulatedWorld;
  readonly #timeline: Timeline;
  readonly #scheduler: SimulatedScheduler;
  readonly #referee: Referee;
  readonly #takeProcess: (worker: number) => SimulatedWorker | undefined;
  readonly #trace: string[] | undefined;
  readonly #ended: (request: RequestId, code: ErrorCode | undefined) => void;
  #isPumpDue: boolean = false;
  #wakeUp = 0;
  #tracedAt = 0;
  eventCount = 0;
  lastBatch = 0;
  lastEndedBatch = 0;
  /** How often each kind of event and action was seen; failures and refusals by code. */
  readonly seen = new Map<string, number>();
  /** What to do when a retired model has nothing left. */
  readonly onIdle = new Map<ModelKey, () => void>();

  constructor(
    world: SimulatedWorld,
    scheduler: SimulatedScheduler,
    referee: Referee,
    takeProcess: (worker: number) => SimulatedWorker | undefined,
    ended: (request: RequestId, code: ErrorCode | undefined) => void,
    trace: string[] | undefined,
  ) {
    this.#world = world;
    this.#timeline = world.timeline;
    this.#scheduler = scheduler;
    this.#referee = referee;
    this.#takeProcess = takeProcess;
    this.#ended = ended;
    this.#trace = trace;
  }

  tell(event: SchedulerEvent): void {
    const { nowMs } = this.#timeline;
    this.eventCount += 1;
    const isEnd = event.kind === 'batch-answered' || event.kind === 'batch-failed';
    if (isEnd && event.batch <= this.lastBatch) this.lastEndedBatch = event.batch;
    this.count(event.kind === 'batch-failed' ? `failed: ${event.code}` : event.kind);
    this.#traceLine(formatEvent, event);
    this.#scheduler.handle(event, nowMs);
    const actions = this.#scheduler.takeActions();
    this.#traceActions(actions);
    this.#referee.afterEvent(event, actions, nowMs);
    this.#act(actions);
    if (this.#isPumpDue) return;
    // Whatever else happens at this moment is of the same turn.
    this.#isPumpDue = true;
    this.#timeline.after(0, () => this.#pump());
  }

  #pump(): void {
    const { nowMs } = this.#timeline;
    this.#isPumpDue = false;
    this.#traceLine(() => 'pump', undefined);
    this.#scheduler.pump(nowMs);
    const actions = this.#scheduler.takeActions();
    this.#traceActions(actions);
    this.#referee.afterPump(actions, nowMs);
    for (const { breaker } of this.#scheduler.instances(nowMs))
      if (breaker !== 'closed') this.count(`breaker: ${breaker}`);
    this.#act(actions);
  }

  #act(actions: readonly SchedulerAction[]): void {
    for (const action of actions) {
      this.count(action.kind === 'refuse' ? `refuse: ${action.code}` : action.kind);
      if (action.kind === 'dispatch') {
        const { batch, model, requests } = action;
        this.lastBatch = batch;
        this.#world.truth.noteBatch(requests);
        this.#takeProcess(action.worker)?.send({ kind: 'dispatch', batch, model, requests });
      } else if (action.kind === 'deliver') {
        this.#world.truth.claimTrue(action);
        for (const request of action.requests) this.#ended(request, undefined);
      } else if (action.kind === 'refuse') {
        this.#ended(action.request, action.code);
      } else if (action.kind === 'cancel-batch') {
        this.#takeProcess(action.worker)?.send({ kind: 'cancel', batch: action.batch });
      } else if (action.kind === 'kill-worker') {
        this.#takeProcess(action.worker)?.kill();
      } else if (action.kind === 'model-idle') {
        const { model } = action;
        const onIdle = this.onIdle.get(model);
        this.onIdle.delete(model);
        if (onIdle !== undefined) this.#timeline.after(0, onIdle);
      } else if (action.kind === 'wake-at') {
        this.#wakeUp += 1;
        const wakeUp = this.#wakeUp;
        this.#timeline.at(action.at - this.#earlyMs(), () => {
          if (wakeUp === this.#wakeUp) this.tell({ kind: 'tick' });
        });
      }
    }
  }

  /** Timers of real clocks fire a little early at times. */
  #earlyMs(): number {
    const { random, weather } = this.#world;
    return random.chance(weather.earlyTimer) ? random.next() : 0;
  }

  count(name: string): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + 1);
  }

  /** Something for the reader of the trace. */
  note(who: string, said: unknown): void {
    this.#traceLine((value) => `# ${who}: ${JSON.stringify(value)}`, said);
  }

  /** The trace is a scenario file: a failing seed can be made one by copying it. */
  #traceLine<T>(format: (value: T) => string, value: T): void {
    if (this.#trace === undefined) return;
    if (this.#tracedAt !== this.#timeline.nowMs) {
      this.#tracedAt = this.#timeline.nowMs;
      this.#trace.push(`at ${this.#tracedAt}`);
    }
    this.#trace.push(format(value));
  }

  #traceActions(actions: readonly SchedulerAction[]): void {
    if (actions.length > 0) this.#trace?.push('----', ...actions.map(formatAction), '');
  }
}
