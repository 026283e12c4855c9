/** The watches of a store, and what each has been told. */
import type { MetadataChange, MetadataEntry } from './metadata.ts';

interface Watcher {
  readonly prefix: string;
  readonly listener: (change: MetadataChange) => void;
  /** Changes up to this revision were part of the initial entries. */
  readonly revision: number;
}

export class Watchers {
  readonly #watchers = new Set<Watcher>();

  /** Reports the existing entries, as of `revision`, and every later change; returns a function that stops it. */
  add(
    prefix: string,
    listener: (change: MetadataChange) => void,
    present: readonly MetadataEntry[],
    revision: number,
  ): () => void {
    const watcher = { prefix, listener, revision };
    this.#watchers.add(watcher);
    for (const { key, value, revision } of present) {
      if (!this.#watchers.has(watcher)) break;
      listener({ kind: 'put', entry: { key, value, revision } });
    }
    return () => {
      this.#watchers.delete(watcher);
    };
  }

  tell(change: MetadataChange): void {
    const { key, revision } = change.kind === 'put' ? change.entry : change;
    for (const { prefix, listener, revision: told } of this.#watchers) {
      if (revision > told && key.startsWith(prefix)) listener(change);
    }
  }

  clear(): void {
    this.#watchers.clear();
  }
}
