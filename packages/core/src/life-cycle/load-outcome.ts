import type { MemberEntry, RevisionEntry } from './context-entry.ts';
import type { VersionTable } from './version-table.ts';

export type LoadOutcome =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'failed'; readonly reason: string; readonly isFinal: boolean };

/** How a load has ended; undefined while that is not certain. */
export function takeLoadOutcome(
  { members, isSettled }: RevisionEntry,
  versions: VersionTable,
): LoadOutcome | undefined {
  if (members.some(({ report }) => report === 'none')) return undefined;
  const failed = members.filter(({ report }) => report === 'unservable');
  // New files of one model must not end the service of others in the same group.
  if (failed.length === members.length || failed.some((member) => versions.isReady(member))) {
    const reason = failed.map((member) => reasonOf(member, members.length)).join('; ');
    return { kind: 'failed', reason, isFinal: failed.every(({ isFinal }) => isFinal) };
  }
  // Traffic moves when as many workers are ready as before, not with the first of them.
  const hasPredecessor = members.some(({ model }) => versions.isAnyReady(model));
  return hasPredecessor && !isSettled ? undefined : { kind: 'loaded' };
}

function reasonOf({ model, version, reason }: MemberEntry, members: number): string {
  return members === 1 ? reason : `${model} version ${version}: ${reason}`;
}
