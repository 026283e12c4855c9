import type { Revision } from './revision.ts';

/** Promises that resolve when a revision is loaded or has failed, or when nothing of some revisions is left. */
export class OutcomeWaiters {
  #onOutcome: { readonly revision: Revision; readonly resolve: (reason: string) => void }[] = [];
  #onForgotten: (() => void)[] = [];

  /** Resolves with why the revision cannot be served; empty when it can. */
  outcomeOf(revision: Revision): Promise<string> {
    return new Promise((resolve) => {
      this.#onOutcome.push({ revision, resolve });
    });
  }

  tellOutcome(revision: Revision, reason: string): void {
    const told = this.#onOutcome.filter((one) => one.revision === revision);
    if (told.length === 0) return;
    this.#onOutcome = this.#onOutcome.filter((one) => one.revision !== revision);
    for (const { resolve } of told) resolve(reason);
  }

  /** Resolves when `isAnyLeft` returns false; checked after each revision that is forgotten. */
  async whenNoneIsLeft(isAnyLeft: () => boolean): Promise<void> {
    while (isAnyLeft()) {
      await new Promise<void>((resolve) => {
        this.#onForgotten.push(resolve);
      });
    }
  }

  tellForgotten(): void {
    for (const listener of this.#onForgotten.splice(0)) listener();
  }
}
