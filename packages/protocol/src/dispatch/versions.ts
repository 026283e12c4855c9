/**
 * Which versions of the dispatch protocol are supported, and which one a link uses. The rules:
 * docs/reference/dispatch.md.
 */

/** Both ends included. */
export interface VersionRange {
  readonly oldest: number;
  readonly newest: number;
}

/** The versions that this release supports, as a router and as a worker. */
export const dispatchVersions: VersionRange = { oldest: 5, newest: 5 };

/** The newest version in both ranges; undefined when they have none in common. */
export function takeCommonVersion(one: VersionRange, other: VersionRange): number | undefined {
  const newest = Math.min(one.newest, other.newest);
  return newest >= Math.max(one.oldest, other.oldest) ? newest : undefined;
}

/** Router and worker have no version in common: the worker is refused. */
export class VersionMismatch extends Error {
  constructor(router: VersionRange, worker: VersionRange) {
    super(
      `the worker supports ${rangeText(worker)} of the dispatch protocol and the router supports ${rangeText(router)}: ` +
        `run the worker of the router’s release, or another one that supports ${rangeText(router)}`,
    );
    this.name = 'VersionMismatch';
  }
}

function rangeText({ oldest, newest }: VersionRange): string {
  return oldest === newest ? `version ${oldest}` : `versions ${oldest} to ${newest}`;
}
