import type { ContextEntry, RevisionEntry } from './context-entry.ts';
import type { ContextUse } from './keeper-events.ts';

export interface EvictionNeed {
  readonly bytes: number;
  /** Never chosen, because the eviction is for it. */
  readonly beneficiary: ContextEntry | undefined;
  readonly residencyMsMin: number;
  readonly nowMs: number;
}

export interface EvictionChoice {
  /** Least recently used first. */
  readonly victims: readonly RevisionEntry[];
  readonly isEnough: boolean;
  /** When more can be chosen, if that is only a matter of time; Infinity otherwise. */
  readonly recheckAt: number;
}

/**
 * Chooses what to evict, least recently used first: contexts without work; then those with work that have been in
 * memory for `residencyMsMin`, which are drained first. A context loaded for requests that have not arrived yet is kept
 * for the same time. Pinned contexts, and those being replaced, are never chosen.
 */
export function chooseVictims(contexts: Iterable<ContextEntry>, use: ContextUse, need: EvictionNeed): EvictionChoice {
  const idle: { readonly revision: RevisionEntry; readonly usedAt: number }[] = [];
  const busy: { readonly revision: RevisionEntry; readonly usedAt: number }[] = [];
  let recheckAt = Number.POSITIVE_INFINITY;
  for (const context of contexts) {
    const revision = context.current;
    if (revision === undefined || !isCandidate(context, revision) || context === need.beneficiary) continue;
    const lastUse = use.usedAt(revision.id);
    const usedAt = Math.max(lastUse ?? 0, revision.readyAt);
    const safeUntil = revision.readyAt + need.residencyMsMin;
    const isBusy = use.isInUse(revision.id);
    const isExpected = revision.isAwaited && lastUse === revision.usedBefore;
    if (!isBusy && !isExpected) idle.push({ revision, usedAt });
    else if (need.nowMs >= safeUntil) (isBusy ? busy : idle).push({ revision, usedAt });
    else recheckAt = Math.min(recheckAt, safeUntil);
  }
  const byUse = (a: { usedAt: number; revision: RevisionEntry }, b: typeof a): number =>
    a.usedAt - b.usedAt || a.revision.id - b.revision.id;
  const victims: RevisionEntry[] = [];
  let freed = 0;
  for (const { revision } of [...idle.sort(byUse), ...busy.sort(byUse)]) {
    if (freed >= need.bytes) break;
    victims.push(revision);
    freed += revision.bytes;
  }
  return { victims, isEnough: freed >= need.bytes, recheckAt };
}

function isCandidate(context: ContextEntry, revision: RevisionEntry): boolean {
  const isBeingReplaced = context.next?.state === 'loading';
  return revision.state === 'ready' && !context.isPinned && !isBeingReplaced && revision.bytes > 0;
}
