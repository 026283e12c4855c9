/** A keeper that is watched: the shell drives it as it drives core's, and every event and action passes the referee. */
import type { KeeperAction, KeeperEvent, RevisionId } from '@millrace/core';
import type { DrivenKeeper } from '@millrace/router/internal';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { LibraryReferee } from './library-referee.ts';

export class JudgedKeeper implements DrivenKeeper {
  readonly #world: SimulatedWorld;
  readonly #inner: DrivenKeeper;
  readonly #referee: LibraryReferee;
  readonly #actions: KeeperAction[] = [];

  constructor(world: SimulatedWorld, inner: DrivenKeeper, referee: LibraryReferee) {
    this.#world = world;
    this.#inner = inner;
    this.#referee = referee;
  }

  handle(event: KeeperEvent, nowMs: number): void {
    const world = this.#world;
    world.note('keeper is told', event);
    world.count(`to keeper: ${event.kind}`);
    this.#inner.handle(event, nowMs);
    const actions = this.#inner.takeActions();
    for (const action of actions) {
      world.note('keeper says', action);
      world.count(action.kind === 'refuse' ? `keeper: refuse ${action.code}` : `keeper: ${action.kind}`);
    }
    world.judge(() => this.#referee.judge(event, actions, nowMs));
    this.#actions.push(...actions);
  }

  takeActions(): readonly KeeperAction[] {
    return this.#actions.splice(0);
  }

  takeRevision(id: RevisionId): ReturnType<DrivenKeeper['takeRevision']> {
    return this.#inner.takeRevision(id);
  }

  isKnown(context: string): boolean {
    return this.#inner.isKnown(context);
  }

  isPinned(context: string): boolean {
    return this.#inner.isPinned(context);
  }

  get usedBytes(): number {
    return this.#inner.usedBytes;
  }

  get budgetBytes(): number {
    return this.#inner.budgetBytes;
  }
}
