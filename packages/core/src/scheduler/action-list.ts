import type { SchedulerAction } from '../events.ts';

/** Actions in the order they were decided. Two arrays are used in turn, so that a steady state allocates none. */
export class ActionList {
  #filling: SchedulerAction[] = [];
  #lent: SchedulerAction[] = [];

  add(action: SchedulerAction): void {
    this.#filling.push(action);
  }

  /** The actions added since the last call. Valid until the next call, also while more are added. */
  take(): readonly SchedulerAction[] {
    const taken = this.#filling;
    this.#lent.length = 0;
    this.#filling = this.#lent;
    this.#lent = taken;
    return taken;
  }
}
