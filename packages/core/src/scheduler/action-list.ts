import type { SchedulerAction } from '../events.ts';

/** Actions in the order they were decided. Two arrays take turns, so that a steady state allocates none. */
export class ActionList {
  #filling: SchedulerAction[] = [];
  #lent: SchedulerAction[] = [];

  add(action: SchedulerAction): void {
    this.#filling.push(action);
  }

  /** What was added since the last call. Valid until the next call; adding meanwhile does no harm. */
  take(): readonly SchedulerAction[] {
    const taken = this.#filling;
    this.#lent.length = 0;
    this.#filling = this.#lent;
    this.#lent = taken;
    return taken;
  }
}
