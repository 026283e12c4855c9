import type { RevisionLoader } from '../revisions/revision-loader.ts';
import type { OverrideFiles } from './override-files.ts';

/** Tracks which model is loaded from which folder of uploaded files, and removes folders that are no longer used. */
export class LoadFolders {
  readonly #files: OverrideFiles;
  readonly #loader: RevisionLoader;
  /** By model: the folder of the files that came with its last load. */
  readonly #folders = new Map<string, string>();

  constructor(files: OverrideFiles, loader: RevisionLoader) {
    this.#files = files;
    this.#loader = loader;
  }

  has(model: string): boolean {
    return this.#folders.has(model);
  }

  /** The model is loaded from `folder` now, undefined: from the repository or not at all. The folder before is removed. */
  set(model: string, folder: string | undefined): void {
    const before = this.#folders.get(model);
    if (folder === undefined) this.#folders.delete(model);
    else this.#folders.set(model, folder);
    if (before !== undefined) void this.#removeLater(before);
  }

  /** Removes files once nothing loaded from them is left: until then a replaced worker loads from them again. */
  async #removeLater(folder: string): Promise<void> {
    await this.#loader.whenForgotten((revision) =>
      revision.plan.members.some(({ version }) => version.path.startsWith(`${folder}/`)),
    );
    await this.#files.remove(folder);
  }
}
