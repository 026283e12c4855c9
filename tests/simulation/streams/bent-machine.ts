/** A stream machine, or one with a planted bug: what goes in, what comes out or what is restored is changed. */
import {
  type IdleSince,
  type OpeningEntry,
  type StreamEntry,
  StreamMachine,
  type StreamMachineAction,
  type StreamMachineConfig,
  type StreamMachineCounts,
  type StreamMachineEvent,
} from '@millrace/core';
import type { SimulatedValue } from './reference-run.ts';

type MachineEvent = StreamMachineEvent<SimulatedValue>;
type MachineAction = StreamMachineAction<SimulatedValue>;

/** The parts of a bug that belong to one machine. `feed` gives the machine a further event, after the current one. */
export interface StreamBugHooks {
  readonly event?: (event: MachineEvent, feed: (event: MachineEvent) => void) => readonly MachineEvent[];
  readonly action?: (action: MachineAction, feed: (event: MachineEvent) => void) => readonly MachineAction[];
}

export interface StreamBug {
  readonly hooks?: () => StreamBugHooks;
  readonly restored?: (entries: readonly StreamEntry<SimulatedValue>[]) => readonly StreamEntry<SimulatedValue>[];
  readonly isUnfenced?: boolean;
  readonly forgetsIdle?: boolean;
  readonly config?: Partial<StreamMachineConfig>;
}

const isSame = (journaled: SimulatedValue, again: SimulatedValue): boolean => journaled.value === again.value;

export class BentMachine {
  readonly #machine: StreamMachine<SimulatedValue>;
  readonly #hooks: StreamBugHooks;
  readonly #fed: MachineEvent[] = [];
  #nowMs: number;

  constructor(machine: StreamMachine<SimulatedValue>, bug: StreamBug, nowMs: number) {
    this.#machine = machine;
    this.#hooks = bug.hooks?.() ?? {};
    this.#nowMs = nowMs;
  }

  static open(
    opening: OpeningEntry<SimulatedValue>,
    config: Partial<StreamMachineConfig>,
    bug: StreamBug,
    nowMs: number,
  ): BentMachine {
    const options = { config: { ...config, ...bug.config }, isSame };
    return new BentMachine(StreamMachine.open(opening, options, nowMs), bug, nowMs);
  }

  static restore(
    entries: readonly StreamEntry<SimulatedValue>[],
    last: number,
    config: Partial<StreamMachineConfig>,
    bug: StreamBug,
    nowMs: number,
    idle: IdleSince | undefined,
  ): BentMachine {
    const options = { config: { ...config, ...bug.config }, isSame };
    const restored = bug.restored?.(entries) ?? entries;
    return new BentMachine(
      StreamMachine.restore(restored, last, options, nowMs, bug.forgetsIdle === true ? undefined : idle),
      bug,
      nowMs,
    );
  }

  handle(event: MachineEvent, nowMs: number): void {
    this.#nowMs = nowMs;
    const feed = (fed: MachineEvent): void => void this.#fed.push(fed);
    for (const bent of this.#hooks.event?.(event, feed) ?? [event]) this.#machine.handle(bent, nowMs);
  }

  takeActions(): readonly MachineAction[] {
    const { action: bend } = this.#hooks;
    if (bend === undefined && this.#fed.length === 0) return this.#machine.takeActions();
    const actions: MachineAction[] = [];
    const feed = (fed: MachineEvent): void => void this.#fed.push(fed);
    do {
      for (let fed = this.#fed.shift(); fed !== undefined; fed = this.#fed.shift())
        this.#machine.handle(fed, this.#nowMs);
      for (const action of this.#machine.takeActions()) actions.push(...(bend?.(action, feed) ?? [action]));
    } while (this.#fed.length > 0);
    return actions;
  }

  counts(): StreamMachineCounts {
    return this.#machine.counts();
  }
}
