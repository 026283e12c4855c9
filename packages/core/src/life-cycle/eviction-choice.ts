import type { ContextEntry, RevisionEntry } from './context-entry.ts';
import type { ContextUse } from './keeper-events.ts';

export interface EvictionNeed {
  readonly bytes: number;
  /** Never chosen: room is made for it. */
  readonly beneficiary: ContextEntry | undefined;
  readonly residencyMsMin: number;
  readonly nowMs: number;
}

export interface EvictionChoice {
  /** Least recently used first. */
  readonly victims: readonly RevisionEntry[];
  readonly isEnough: boolean;
  /** When more can be chosen, if time alone brings that about; Infinity otherwise. */
  readonly lookAgainAt: number;
}

/**
 * Whom to unload, least recently used first: those without work; then those with work that have been in memory for
 * `residencyMsMin`, which are drained first. What was loaded for requests that have not come yet is kept as long: they
 * are on their way. Never a pinned one, nor one that is being replaced.
 */
export function chooseVictims(contexts: Iterable<ContextEntry>, use: ContextUse, need: EvictionNeed): EvictionChoice {
  const idle: { readonly revision: RevisionEntry; readonly usedAt: number }[] = [];
  const busy: { readonly revision: RevisionEntry; readonly usedAt: number }[] = [];
  let lookAgainAt = Number.POSITIVE_INFINITY;
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
    else lookAgainAt = Math.min(lookAgainAt, safeUntil);
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
  return { victims, isEnough: freed >= need.bytes, lookAgainAt };
}

function isCandidate(context: ContextEntry, revision: RevisionEntry): boolean {
  const isBeingReplaced = context.next?.state === 'loading';
  return revision.state === 'ready' && !context.isPinned && !isBeingReplaced && revision.bytes > 0;
}
