import type { MemberEntry, RevisionEntry } from './context-entry.ts';

/** A version of a model, as callers name it. */
export interface VersionName {
  readonly model: string;
  readonly version: string;
}

/**
 * `loading`: its first load has not ended. `evicted`: not in memory; the next request loads it, so it counts as ready.
 * `failed`: it takes no requests, whether or not it is being tried again.
 */
export type VersionState = 'loading' | 'ready' | 'evicted' | 'unloading' | 'failed';

/** The state of a version as the keeper decides it; everybody else shows it. */
export interface VersionStatus {
  readonly state: VersionState;
  /** Why it is not ready; empty when it is. */
  readonly reason: string;
  /** It is ready, and what should replace it cannot be read or loaded: why; otherwise empty. */
  readonly replacementReason: string;
  /** It loads or has failed, and the server is ready nevertheless. */
  readonly isTolerated: boolean;
  /** It has been ready, or loadable on demand, before. */
  readonly hasServed: boolean;
  /** Requests may wait for it: it loads for the first time, or failed and is tried again when a request comes. */
  readonly isAwaited: boolean;
}

export interface MemberStatus extends Pick<VersionStatus, 'state' | 'reason'> {
  /** Which of several revisions represents the version: the greatest. */
  readonly rank: number;
}

const ranks: Readonly<Record<VersionState, number>> = { ready: 4, evicted: 3, loading: 1, failed: 1, unloading: 0 };
/** What serves in principle and fails says more than what is still being loaded to replace it. */
const rankInService = 2;

const evictedText = 'it was unloaded to make room, and is loaded again when a request comes';

/** The state of a version as far as one of its revisions goes. */
export function memberStatusOf(revision: RevisionEntry, member: MemberEntry): MemberStatus {
  const [state, reason] = stateOf(revision, member);
  const isInService = revision.state === 'ready';
  return { state, reason, rank: isInService ? Math.max(ranks[state], rankInService) : ranks[state] };
}

function stateOf(revision: RevisionEntry, member: MemberEntry): readonly [VersionState, string] {
  const failed = ['failed', member.reason === '' ? revision.reason : member.reason] as const;
  switch (revision.state) {
    case 'queued':
    case 'loading':
      // A load that is tried again is no news: the last attempt's outcome holds until this one succeeds.
      if (revision.reason !== '') return failed;
      return revision.isOnDemand ? ['evicted', evictedText] : ['loading', 'the model is loading'];
    case 'ready':
      if (member.report === 'servable') return ['ready', ''];
      return member.report === 'unservable' ? failed : ['loading', member.reason];
    case 'retiring':
    case 'unloading':
      if (revision.afterUnload === 'evicted') return ['evicted', evictedText];
      return revision.afterUnload === 'failed' ? failed : ['unloading', 'it is being unloaded'];
    case 'evicted':
      return revision.reason === '' ? ['evicted', evictedText] : failed;
    case 'failed':
      return failed;
  }
}

export function isAvailable(state: VersionState): boolean {
  return state === 'ready' || state === 'evicted';
}
