/** Passes events to the keeper, and its actions to what carries them out, one after the other. */
import { type ContextUse, Keeper, type KeeperAction, type KeeperConfig, type KeeperEvent } from '@millrace/core';
import type { Clock } from '../../data-plane/clock.ts';

/** The keeper's queries, for use outside of its loop. */
export type KeeperView = Pick<Keeper, 'takeRevision' | 'isKnown' | 'isPinned' | 'usedBytes' | 'budgetBytes'>;

/** The part of a keeper that the loop drives. */
export type DrivenKeeper = KeeperView & Pick<Keeper, 'handle' | 'takeActions'>;

/** All but `wake-at`, which the loop carries out itself. */
export type KeeperTask = Exclude<KeeperAction, { readonly kind: 'wake-at' }>;

export interface KeeperLoopParts {
  readonly clock: Clock;
  readonly config: Partial<KeeperConfig>;
  readonly use: ContextUse;
  /** Absent: core's keeper. */
  readonly createKeeper?: ((use: ContextUse, config: Partial<KeeperConfig>) => DrivenKeeper) | undefined;
  readonly perform: (task: KeeperTask) => void;
}

export class KeeperLoop {
  readonly #parts: KeeperLoopParts;
  readonly #keeper: DrivenKeeper;
  readonly #actions: KeeperAction[] = [];
  #isPerforming: boolean = false;
  #cancelWake: (() => void) | undefined;
  #isClosed: boolean = false;

  constructor(parts: KeeperLoopParts) {
    this.#parts = parts;
    const { use, config, createKeeper } = parts;
    this.#keeper = createKeeper === undefined ? new Keeper(use, config) : createKeeper(use, config);
  }

  get keeper(): KeeperView {
    return this.#keeper;
  }

  /** An action may cause further events: their actions are carried out after those decided before. */
  tell(event: KeeperEvent): void {
    if (this.#isClosed) return;
    this.#keeper.handle(event, this.#parts.clock.now());
    this.#actions.push(...this.#keeper.takeActions());
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    for (let action = this.#actions.shift(); action !== undefined; action = this.#actions.shift()) {
      if (action.kind === 'wake-at') this.#wakeAt(action.at);
      else this.#parts.perform(action);
    }
    this.#isPerforming = false;
  }

  /** Stops all decisions. */
  close(): void {
    this.#isClosed = true;
    this.#cancelWake?.();
  }

  #wakeAt(at: number): void {
    const { clock } = this.#parts;
    this.#cancelWake?.();
    this.#cancelWake = clock.alarm(Math.max(0, at - clock.now()), () => this.tell({ kind: 'tick' }));
  }
}
