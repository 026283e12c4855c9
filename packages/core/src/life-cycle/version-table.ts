/**
 * The state of every version, derived from its revisions and from what could not be read of it. Says which versions have
 * changed; holds what outlives a revision: whether a version has served, and whether it was there at the start.
 */
import type { MemberEntry, RevisionEntry } from './context-entry.ts';
import type { KeeperAction } from './keeper-events.ts';
import {
  isAvailable,
  type MemberStatus,
  memberStatusOf,
  type VersionName,
  type VersionState,
  type VersionStatus,
} from './version-status.ts';

/** What the server found at first; `loading` until the first load of each of these has ended. */
type StartPhase = 'reading' | 'loading' | 'over';

interface Candidate {
  readonly revision: RevisionEntry;
  readonly member: number;
}

interface Present extends MemberStatus {
  readonly candidate: Candidate | undefined;
  readonly replacementReason: string;
}

interface VersionEntry {
  readonly version: string;
  /** Revisions that have this version, oldest first. */
  candidates: readonly Candidate[];
  /** Why its files cannot be read; empty when they can. */
  unreadableReason: string;
  hasServed: boolean;
  readonly isLate: boolean;
  shown: (VersionStatus & { readonly candidate: Candidate | undefined }) | undefined;
}

interface ModelEntry {
  readonly name: string;
  readonly versions: Map<string, VersionEntry>;
  /** It was added after the start. */
  readonly isLate: boolean;
  hasServed: boolean;
}

export interface UnreadableVersion {
  /** Empty when the model could not be read at all. */
  readonly version: string;
  readonly reason: string;
}

export class VersionTable {
  readonly #say: (action: KeeperAction) => void;
  readonly #models = new Map<string, ModelEntry>();
  readonly #changed = new Set<ModelEntry>();
  #phase: StartPhase = 'reading';
  /** Requests may wait for a first load. */
  #isAwaiting: boolean = false;

  constructor(say: (action: KeeperAction) => void) {
    this.#say = say;
  }

  /** All that was found at the start is known. */
  endReading(): void {
    if (this.#phase === 'reading') this.#phase = 'loading';
  }

  setAwaiting(isAwaiting: boolean): void {
    if (this.#isAwaiting === isAwaiting) return;
    this.#isAwaiting = isAwaiting;
    this.#markAll();
  }

  add(revision: RevisionEntry): void {
    for (const [member, name] of revision.members.entries()) {
      const entry = this.#entryFor(name);
      entry.candidates = [...entry.candidates, { revision, member }];
    }
    this.mark(revision);
  }

  remove(revision: RevisionEntry): void {
    for (const { model, version } of revision.members) {
      const entry = this.#models.get(model)?.versions.get(version);
      if (entry !== undefined) entry.candidates = entry.candidates.filter((one) => one.revision !== revision);
    }
    this.mark(revision);
  }

  /** Something of the revision has changed. */
  mark(revision: RevisionEntry): void {
    for (const { model } of revision.members) {
      const entry = this.#models.get(model);
      if (entry !== undefined) this.#changed.add(entry);
    }
  }

  /** Replaces what is known to be unreadable of the model. */
  setUnreadable(model: string, unreadable: readonly UnreadableVersion[]): void {
    for (const entry of this.#models.get(model)?.versions.values() ?? []) entry.unreadableReason = '';
    for (const { version, reason } of unreadable) this.#entryFor({ model, version }).unreadableReason = reason;
    const entry = this.#models.get(model);
    if (entry !== undefined) this.#changed.add(entry);
  }

  /** Whether exactly this version takes requests at once. */
  isReady({ model, version }: VersionName): boolean {
    return this.#models.get(model)?.versions.get(version)?.shown?.state === 'ready';
  }

  /** Whether some version of the model takes requests at once. */
  isAnyReady(model: string): boolean {
    for (const { shown } of this.#models.get(model)?.versions.values() ?? []) if (shown?.state === 'ready') return true;
    return false;
  }

  /** Says what has changed since the last call. */
  tellChanges(): void {
    this.#tell();
    if (this.#phase !== 'loading' || this.#isAnyLoading()) return;
    this.#phase = 'over';
    this.#markAll();
    this.#tell();
  }

  #tell(): void {
    for (const model of this.#changed) this.#tellModel(model);
    this.#changed.clear();
  }

  #tellModel(model: ModelEntry): void {
    const present = new Map<VersionEntry, Present>();
    for (const entry of model.versions.values()) {
      const status = presentOf(entry);
      if (status === undefined) {
        model.versions.delete(entry.version);
        if (entry.shown !== undefined)
          this.#say({ kind: 'version-removed', model: model.name, version: entry.version });
        continue;
      }
      present.set(entry, status);
      if (isAvailable(status.state)) entry.hasServed = true;
      if (entry.hasServed) model.hasServed = true;
    }
    // A model that cannot be read as a whole has served if one of its versions has.
    const whole = model.versions.get('');
    if (whole !== undefined && model.hasServed) whole.hasServed = true;
    if (model.versions.size === 0) this.#models.delete(model.name);
    for (const [entry, status] of present) this.#show(model, entry, status, present);
  }

  #show(model: ModelEntry, entry: VersionEntry, status: Present, present: ReadonlyMap<VersionEntry, Present>): void {
    const { state, reason, candidate, replacementReason } = status;
    const { version, hasServed, shown } = entry;
    const isTroubled = state === 'failed' || state === 'loading';
    const isTolerated = isTroubled && this.#isTolerated(model, entry, present);
    const isAwaited = this.#isAwaiting && candidate !== undefined && isLoadedForRequests(state, candidate.revision);
    if (
      shown !== undefined &&
      shown.state === state &&
      shown.reason === reason &&
      shown.replacementReason === replacementReason &&
      shown.isTolerated === isTolerated &&
      shown.hasServed === hasServed &&
      shown.isAwaited === isAwaited &&
      shown.candidate === candidate
    )
      return;
    const told = { state, reason, replacementReason, isTolerated, hasServed, isAwaited };
    entry.shown = { ...told, candidate };
    const by = candidate && { revision: candidate.revision.id, member: candidate.member };
    this.#say({ kind: 'version-state', model: model.name, version, by, status: told });
  }

  /**
   * Whether the server is ready although this version is not. What was there at the start has to serve once; what served
   * may fail while another version of the model serves; what was added later may fail, unless its model was broken from
   * the start.
   */
  #isTolerated(model: ModelEntry, entry: VersionEntry, present: ReadonlyMap<VersionEntry, Present>): boolean {
    if (this.#phase !== 'over') return false;
    if (!entry.hasServed) return entry.isLate && (model.isLate || model.hasServed);
    for (const [other, { state }] of present) if (other !== entry && isAvailable(state)) return true;
    return false;
  }

  #isAnyLoading(): boolean {
    for (const { versions } of this.#models.values()) {
      for (const { shown } of versions.values()) if (shown?.state === 'loading') return true;
    }
    return false;
  }

  #markAll(): void {
    for (const model of this.#models.values()) this.#changed.add(model);
  }

  #entryFor({ model, version }: VersionName): VersionEntry {
    const isLate = this.#phase === 'over';
    const named = this.#models.get(model) ?? { name: model, versions: new Map(), isLate, hasServed: false };
    this.#models.set(model, named);
    const entry = named.versions.get(version) ?? {
      version,
      candidates: [],
      unreadableReason: '',
      hasServed: false,
      isLate,
      shown: undefined,
    };
    named.versions.set(version, entry);
    return entry;
  }
}

/** The state of a version by the revision that represents it; undefined: nothing is known of it any more. */
function presentOf({ candidates, unreadableReason }: VersionEntry): Present | undefined {
  let best: (MemberStatus & { readonly candidate: Candidate }) | undefined;
  for (const candidate of candidates) {
    const status = memberStatusOf(candidate.revision, memberOf(candidate));
    if (best === undefined || status.rank >= best.rank) best = { ...status, candidate };
  }
  if (best === undefined) {
    if (unreadableReason === '') return undefined;
    return { state: 'failed', reason: unreadableReason, rank: 0, candidate: undefined, replacementReason: '' };
  }
  if (best.state !== 'ready') return { ...best, replacementReason: '' };
  return {
    ...best,
    replacementReason: unreadableReason === '' ? failedSince(best.candidate, candidates) : unreadableReason,
  };
}

/** Whether a request for a version that is not available is worth a load, or waits for the one in progress. */
function isLoadedForRequests(state: VersionState, revision: RevisionEntry): boolean {
  if (state === 'failed') return revision.state === 'evicted';
  return state === 'loading' && revision.state !== 'ready';
}

/** Why the newest revision after the one that serves could not replace it; empty when none failed. */
function failedSince(serving: Candidate, candidates: readonly Candidate[]): string {
  let reason = '';
  for (const candidate of candidates) {
    if (candidate.revision.id <= serving.revision.id) continue;
    const status = memberStatusOf(candidate.revision, memberOf(candidate));
    reason = status.state === 'failed' ? status.reason : '';
  }
  return reason;
}

function memberOf({ revision, member }: Candidate): MemberEntry {
  return revision.members[member] as MemberEntry;
}
