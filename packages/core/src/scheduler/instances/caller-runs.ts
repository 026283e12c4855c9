import { leavesEnough } from '../../memory/memory-share.ts';
import type { CallerRunsMax } from '../../model-policy.ts';

/** How many of a worker's runs are of which caller. */
export class CallerRuns {
  readonly #counts = new Map<string, number>();

  of(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }

  add(caller: string): void {
    this.#counts.set(caller, this.of(caller) + 1);
  }

  remove(caller: string): void {
    const left = this.of(caller) - 1;
    if (left > 0) this.#counts.set(caller, left);
    else this.#counts.delete(caller);
  }
}

/**
 * Whether a caller with `held` runs on a worker may begin another there, of `runsMax` of which `free` are free. With a share
 * the rule and its guarantee are those of memory (`memory-share.ts`), but it is asked before a run begins, so that whoever
 * has none may begin one: n callers leave at least a part of 1 / (n + 1) free, less one run each, however long runs take.
 */
export function mayBeginRun(rule: CallerRunsMax, held: number, free: number, runsMax: number): boolean {
  return rule === 'share' ? leavesEnough(runsMax, held, free) : held < rule;
}
