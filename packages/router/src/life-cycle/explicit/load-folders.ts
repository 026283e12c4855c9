import type { RevisionLoader } from '../revisions/revision-loader.ts';
import type { OverrideFiles } from './override-files.ts';

/** Which model is loaded from which folder of uploaded files, and when such a folder can be removed. */
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

  /** Files go when nothing that was loaded from them is left: a worker that is lost is loaded from them again. */
  async #removeLater(folder: string): Promise<void> {
    await this.#loader.whenForgotten((revision) =>
      revision.plan.members.some(({ version }) => version.path.startsWith(`${folder}/`)),
    );
    await this.#files.remove(folder);
  }
}
