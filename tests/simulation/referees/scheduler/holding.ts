/** The rule for models that asked for a delay: when their next batch waits although a worker is free. */
import { type Ledger, type LedgerModel, type LedgerRequest, levelOf, requestRowsOf } from './ledger.ts';

/** Until when the next batch may be held back; undefined when it has to go at once. */
export function takeHeldUntil(ledger: Ledger, model: LedgerModel, nowMs: number): number | undefined {
  const { waiting, policy } = model;
  if (policy.delayMs === 0 || waiting.length === 0 || ledger.isDraining || model.isRetired) return undefined;
  const isGrowing = requestRowsOf(waiting) < policy.rowsMax && waiting.length <= ledger.limits.lookAheadMax;
  const areAlike = waiting.every(({ arrived }) => arrived.group === waiting[0]?.arrived.group);
  if (!isGrowing || !areAlike || waiting.some(({ isAlone }) => isAlone)) return undefined;
  const until = Math.min(...waiting.map(({ arrivedAt }) => arrivedAt)) + policy.delayMs;
  return until <= nowMs || takePreferred(model) !== undefined ? undefined : until;
}

/**
 * The requests, in order, that add up to the largest preferred size they can. Where none is met and the largest is passed:
 * those that stay within it, or the first alone.
 */
export function takePreferred(model: LedgerModel): LedgerRequest[] | undefined {
  const { preferredRows } = model.policy;
  const inOrder = model.waiting.toSorted(
    (left, right) =>
      levelOf(left) - levelOf(right) ||
      Number(left.isDelayed) - Number(right.isDelayed) ||
      left.arrival - right.arrival,
  );
  const heads = inOrder.map((_, index) => inOrder.slice(0, index + 1));
  const met = heads.findLast((head) => preferredRows.includes(requestRowsOf(head)));
  const largest = largestPreferred(model);
  if (met !== undefined || requestRowsOf(inOrder) < largest) return met;
  return heads.findLast((head) => requestRowsOf(head) <= largest) ?? heads[0];
}

/** Rows at which a batch is no longer held back. */
export function largestPreferred({ policy }: LedgerModel): number {
  return policy.preferredRows.at(-1) ?? policy.rowsMax;
}
