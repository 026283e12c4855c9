import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isVersionName } from '../../model/version-name.ts';
import type { SourceWatch } from './repository-source.ts';

/** Folders that are watched; changes in others are seen by the next poll. */
const watchersMax = 4096;

/** Calls back when the system reports a change (inotify, on Linux) in a repository, a model's folder or a version's. */
export class FolderWatches implements SourceWatch {
  readonly #paths: readonly string[];
  readonly #onChange: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #isClosed: boolean = false;

  constructor(paths: readonly string[], onChange: () => void) {
    this.#paths = paths;
    this.#onChange = onChange;
  }

  async refresh(): Promise<void> {
    const folders = new Set<string>();
    for (const path of this.#paths) {
      folders.add(path);
      for (const model of await foldersIn(path)) {
        folders.add(model);
        for (const version of await foldersIn(model, isVersionName)) folders.add(version);
      }
    }
    if (this.#isClosed) return;
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watchers.size >= watchersMax) break;
      if (!this.#watchers.has(folder)) this.#watch(folder);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, this.#onChange);
      // The folder was removed, or the limit of watches is reached: the poll finds the changes.
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(folder);
      });
      this.#watchers.set(folder, watcher);
    } catch {
      // As above.
    }
  }
}

async function foldersIn(path: string, isWanted: (name: string) => boolean = () => true): Promise<readonly string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && isWanted(entry.name))
    .map(({ name }) => join(path, name));
}
