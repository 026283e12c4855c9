import { assert } from '../assert.ts';
import type { RevisionEntry } from './context-entry.ts';
import type { KeeperAction, RetireReason, RevisionId } from './keeper-events.ts';
import type { VersionTable } from './version-table.ts';

/** All revisions that are not forgotten, including those being unloaded, and their state transitions. */
export class RevisionTable {
  readonly #revisions = new Map<RevisionId, RevisionEntry>();
  readonly #versions: VersionTable;
  readonly #say: (action: KeeperAction) => void;

  constructor(versions: VersionTable, say: (action: KeeperAction) => void) {
    this.#versions = versions;
    this.#say = say;
  }

  add(revision: RevisionEntry): void {
    assert(!this.#revisions.has(revision.id), 'a revision id is used once');
    this.#revisions.set(revision.id, revision);
    this.#versions.add(revision);
  }

  takeKnown(id: RevisionId): RevisionEntry | undefined {
    return this.#revisions.get(id);
  }

  values(): Iterable<RevisionEntry> {
    return this.#revisions.values();
  }

  load(revision: RevisionEntry, isUnsure: boolean): void {
    revision.state = 'loading';
    revision.isUnsure = isUnsure;
    revision.isSettled = false;
    for (const member of revision.members) member.report = 'none';
    this.#say({ kind: 'load', revision: revision.id, attempt: revision.failures + 1 });
  }

  serve({ id, members }: RevisionEntry): void {
    const servable = members.flatMap(({ report }, member) => (report === 'servable' ? [member] : []));
    this.#say({ kind: 'serve', revision: id, members: servable });
  }

  retire(revision: RevisionEntry, why: RetireReason): void {
    revision.afterUnload = why === 'evicted' ? 'evicted' : 'forgotten';
    revision.isOnDemand = why === 'evicted';
    revision.state = 'retiring';
    this.#say({ kind: 'retire', revision: revision.id, why });
  }

  unload(revision: RevisionEntry, afterUnload: RevisionEntry['afterUnload']): void {
    revision.afterUnload = afterUnload;
    revision.state = 'unloading';
    this.#say({ kind: 'unload', revision: revision.id });
  }

  setAside(revision: RevisionEntry): void {
    revision.isOnDemand = true;
    revision.state = 'evicted';
    this.#say({ kind: 'set-aside', revision: revision.id });
  }

  /** Ends a revision, in whatever state it is. */
  discard(revision: RevisionEntry, why: RetireReason): void {
    switch (revision.state) {
      case 'queued':
      case 'evicted':
      case 'failed':
        this.forget(revision);
        break;
      case 'loading':
        this.unload(revision, 'forgotten');
        break;
      case 'ready':
        this.retire(revision, why);
        break;
      case 'retiring':
      case 'unloading':
        revision.afterUnload = 'forgotten';
        this.#versions.mark(revision);
        break;
    }
  }

  forget(revision: RevisionEntry): void {
    this.#revisions.delete(revision.id);
    this.#versions.remove(revision);
    this.#say({ kind: 'forget', revision: revision.id });
  }

  count(isCounted: (revision: RevisionEntry) => boolean): number {
    let count = 0;
    for (const revision of this.#revisions.values()) if (isCounted(revision)) count += 1;
    return count;
  }

  /** Bytes of the revisions that match. */
  sum(isMeant: (revision: RevisionEntry) => boolean): number {
    let bytes = 0;
    for (const revision of this.#revisions.values()) if (isMeant(revision)) bytes += revision.bytes;
    return bytes;
  }
}
