import type { CancelSignal } from '@millrace/protocol';
import { CallerGone } from '../exchange.ts';
import { OwnerRotation } from './owner-rotation.ts';

interface Waiter {
  readonly owner: string;
  readonly enter: () => void;
}

/** Limits how many run at once; others wait, and owners take turns. */
export class TurnGate {
  readonly #insideMax: number;
  readonly #waiting = new OwnerRotation<Waiter>();
  #inside = 0;

  constructor(insideMax: number) {
    this.#insideMax = insideMax;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs it when its turn comes; if the caller has left by then, it never runs and rejects with `CallerGone`. */
  async pass<Result>(owner: string, signal: CancelSignal, run: () => Promise<Result>): Promise<Result> {
    if (this.#inside < this.#insideMax) this.#inside += 1;
    else if (!(await this.#turn(owner, signal))) throw new CallerGone();
    try {
      return await run();
    } finally {
      const next = this.#waiting.take();
      // The next one in turn runs in its stead.
      if (next === undefined) this.#inside -= 1;
      else next.enter();
    }
  }

  #turn(owner: string, signal: CancelSignal): Promise<boolean> {
    return new Promise((resolve) => {
      let stopListening = (): void => {};
      const waiter: Waiter = {
        owner,
        enter: () => {
          stopListening();
          resolve(true);
        },
      };
      this.#waiting.add(owner, waiter);
      stopListening = signal.onCancel(() => {
        if (this.#waiting.remove(owner, waiter)) resolve(false);
      });
    });
  }
}
