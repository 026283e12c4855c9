import type { RevisionEntry } from './context-entry.ts';

/**
 * Revisions to be loaded: those that requests wait for first, longest wait ahead; then those of open streams; then in the
 * order they were added.
 */
export function loadOrder(revisions: Iterable<RevisionEntry>): readonly RevisionEntry[] {
  const queued = [...revisions].filter(({ state }) => state === 'queued');
  return queued.sort((a, b) => {
    const [first, second] = [a.context.demandedAt, b.context.demandedAt];
    if (first !== second) return first - second;
    return a.hasOpenStreams === b.hasOpenStreams ? a.id - b.id : a.hasOpenStreams ? -1 : 1;
  });
}

export interface LoadQuestion {
  readonly revisions: Iterable<RevisionEntry>;
  readonly budgetBytes: number;
  /** Another revision serves, and is unloaded once this is loaded. */
  readonly isReplacement: boolean;
}

export type LoadDecision =
  | { readonly kind: 'enough'; readonly isUnsure: boolean }
  /** Others must go first, so many bytes of them. When they cannot, a replacement may go over the budget for a while. */
  | { readonly kind: 'evict'; readonly bytes: number; readonly mayGoOver: boolean }
  /** What is on its way out makes the room. */
  | { readonly kind: 'wait' }
  /** There is room, but another load of unknown size may need it: only one of them at a time. */
  | { readonly kind: 'after-another' }
  /** Nobody asked for it, and nobody is evicted for that. */
  | { readonly kind: 'none' }
  /** Whatever is evicted, it is too large. */
  | { readonly kind: 'never' };

/** Whether there is room in the budget to load it now. */
export function loadDecisionFor(revision: RevisionEntry, question: LoadQuestion): LoadDecision {
  const { budgetBytes, isReplacement } = question;
  if (budgetBytes === Number.POSITIVE_INFINITY) return { kind: 'enough', isUnsure: false };
  let usedBytes = 0;
  let leavingBytes = 0;
  let pinnedBytes = 0;
  let allPinnedBytes = 0;
  let isOtherUnsure = false;
  for (const other of question.revisions) {
    if (!other.isInMemory) continue;
    usedBytes += other.bytes;
    if (other.isLeaving) leavingBytes += other.bytes;
    if (other.context.isPinned) allPinnedBytes += other.bytes;
    if (other.context.isPinned && other.context !== revision.context) pinnedBytes += other.bytes;
    if (other.isUnsure) isOtherUnsure = true;
  }
  const isUnsure = !revision.isMeasured;
  const { bytes, context } = revision;
  if (usedBytes + bytes <= budgetBytes)
    return isUnsure && isOtherUnsure ? { kind: 'after-another' } : { kind: 'enough', isUnsure };
  const isTooLarge = bytes > budgetBytes - pinnedBytes;
  if (!isReplacement) {
    if (isTooLarge && !context.isPinned) return { kind: 'never' };
    if (!context.isCalledFor && usedBytes - leavingBytes + bytes > budgetBytes) return { kind: 'none' };
  }
  if (usedBytes - leavingBytes + bytes <= budgetBytes) return { kind: 'wait' };
  // A pinned context is loaded whatever it takes, like a replacement; but no load is added while the budget is exceeded
  // already, unless the excess is pinned and stays.
  const isOver = usedBytes > Math.max(budgetBytes, allPinnedBytes);
  const mayGoOver = (isReplacement || context.isPinned) && !isOtherUnsure && !isOver;
  return { kind: 'evict', bytes: usedBytes - leavingBytes + bytes - budgetBytes, mayGoOver };
}
