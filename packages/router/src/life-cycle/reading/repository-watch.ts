import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../data-plane/clock.ts';
import { isVersionName } from '../../model/version-name.ts';

/** Changes that come close together are handled together. */
const debounceMs = 100;
/** Folders that are watched; changes in others are seen by the next poll. */
const watchersMax = 4096;

export interface RepositoryWatchParts {
  readonly paths: readonly string[];
  readonly pollMs: number;
  readonly clock: Clock;
  /** Something may have changed. Never called while it is still at work. */
  readonly onChange: () => Promise<void>;
}

/**
 * Calls back soon after the system reported a change (inotify, on Linux) in a repository, a model's folder or a
 * version's, and every `pollMs` in any case: network file systems report nothing, and a watch may be lost.
 */
export class RepositoryWatch {
  readonly #parts: RepositoryWatchParts;
  readonly #watchers = new Map<string, FSWatcher>();
  #cancelNext: (() => void) | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #isAtWork: boolean = false;
  #isStopped: boolean = false;

  constructor(parts: RepositoryWatchParts) {
    this.#parts = parts;
  }

  start(): void {
    // Changes between reading the repository and watching it are found by checking at once.
    void this.#watchFolders().then(() => this.checkWithin(0));
  }

  /** Checks again within so many milliseconds, or earlier. */
  checkWithin(delayMs: number): void {
    const { clock } = this.#parts;
    const at = clock.now() + delayMs;
    if (this.#isStopped || at >= this.#dueAt) return;
    this.#dueAt = at;
    this.#cancelNext?.();
    this.#cancelNext = clock.alarm(delayMs, () => void this.#check());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelNext?.();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  async #check(): Promise<void> {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#isAtWork) {
      this.checkWithin(debounceMs);
      return;
    }
    this.#isAtWork = true;
    await this.#watchFolders();
    await this.#parts.onChange();
    this.#isAtWork = false;
    this.checkWithin(this.#parts.pollMs);
  }

  /** Watches the folders that exist now, and stops watching removed ones. */
  async #watchFolders(): Promise<void> {
    const folders = new Set<string>();
    for (const path of this.#parts.paths) {
      folders.add(path);
      for (const model of await foldersIn(path)) {
        folders.add(model);
        for (const version of await foldersIn(model, isVersionName)) folders.add(version);
      }
    }
    if (this.#isStopped) return;
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

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.checkWithin(debounceMs));
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
