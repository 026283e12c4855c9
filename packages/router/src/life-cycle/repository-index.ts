import type { ModelState, ModelStatus } from '../catalogue/catalogue.ts';
import type { UnservedVersions } from '../model/model-definition.ts';

const indexStates: Readonly<Record<ModelState, NonNullable<IndexEntry['state']>>> = {
  loading: 'LOADING',
  ready: 'READY',
  // It answers requests; whether it is in memory is not shown to clients.
  evicted: 'READY',
  unloading: 'UNLOADING',
  failed: 'UNAVAILABLE',
};

/** The repository index: what is served or should be, what was unloaded, versions that are on disk and not served, and what was never loaded. */
export function indexFrom(
  inRepository: readonly string[],
  statuses: readonly ModelStatus[],
  unloaded: ReadonlyMap<string, readonly string[]>,
  unserved: ReadonlyMap<string, UnservedVersions>,
): readonly IndexEntry[] {
  const entries: IndexEntry[] = statuses.map(({ name, version, state, reason, hasNeverServed }) => ({
    name,
    ...(version === '' ? {} : { version }),
    state: indexStates[state],
    // Eviction is not shown to clients either; a failed replacement is.
    ...(state === 'failed' || (state === 'ready' && reason !== '')
      ? { reason: hasNeverServed === true ? `never served: ${reason}` : reason }
      : {}),
  }));
  const listed = new Set(statuses.map(({ name }) => name));
  for (const [name, { versions, reason }] of unserved) {
    if (!listed.has(name)) continue;
    for (const version of versions) {
      // One that is still draining is listed with its state.
      if (statuses.some((status) => status.name === name && status.version === version)) continue;
      entries.push({ name, version, state: 'UNAVAILABLE', reason });
    }
  }
  for (const name of new Set([...inRepository, ...unloaded.keys()])) {
    if (listed.has(name)) continue;
    const versions = unloaded.get(name);
    if (versions === undefined) entries.push({ name });
    else for (const version of versions) entries.push({ name, version, state: 'UNAVAILABLE', reason: 'unloaded' });
  }
  return entries.sort((a, b) => (a.name === b.name ? Number(a.version) - Number(b.version) : a.name < b.name ? -1 : 1));
}

/** A model that was never loaded has a name only. */
export interface IndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state?: 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING';
  readonly reason?: string;
}
