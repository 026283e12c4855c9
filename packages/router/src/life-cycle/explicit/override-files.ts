import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { InferenceError } from '@millrace/protocol';
import { isVersionName } from '../../model/version-name.ts';
import { staysInside } from '../../repository/label-file.ts';

/** Files in one load. */
export const overrideFilesMax = 1024;
/** The limit of file systems. */
export const fileNameBytesMax = 255;
/** Below the limit of file systems, to leave room for the path of the folder. */
export const filePathBytesMax = 1024;

export interface OverrideFilesOptions {
  /** Files in it are kept after the server stops; without it they are removed then. */
  readonly stateFolder?: string | undefined;
  /** The folder for files that are not kept; the system's folder for temporary files unless given. */
  readonly temporaryFolder?: string | undefined;
  /** The group that may read them, beside the server's user. */
  readonly readerGroup?: number | undefined;
}

/** Stores model files that came with loads, each load in a folder of its own that only the server and its workers may read. */
export class OverrideFiles {
  readonly #stateFolder: string | undefined;
  readonly #temporaryFolder: string;
  readonly #readerGroup: number | undefined;
  #temporary: Promise<string> | undefined;

  constructor({ stateFolder, temporaryFolder = tmpdir(), readerGroup }: OverrideFilesOptions) {
    this.#stateFolder = stateFolder;
    this.#temporaryFolder = temporaryFolder;
    this.#readerGroup = readerGroup;
  }

  /** Whether files are kept over a restart. */
  get isKept(): boolean {
    return this.#stateFolder !== undefined;
  }

  /** Writes the files of a load; returns the folder, which replaces the model's in the repository. */
  async write(model: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
    if (files.size > overrideFilesMax) {
      throw new InferenceError(
        'request-too-large',
        `the load has ${files.size} files, more than the ${overrideFilesMax} allowed; put the model into the repository`,
      );
    }
    for (const path of files.keys()) checkPath(path);
    checkFolders(files);
    const folder = await mkdtemp(join(await this.#base(), `${model}-`));
    try {
      await this.#letIn(folder, 0o750);
      for (const [path, bytes] of files) await this.#writeFile(folder, path, bytes);
    } catch (error) {
      await this.remove(folder);
      throw error;
    }
    return folder;
  }

  /** The name of a folder in the stored record: relative, because the store may be moved together with its files. */
  nameOf(folder: string): string {
    return basename(folder);
  }

  /** The path of files that were kept under a name, or under the absolute path of a folder that has been moved since. */
  folderOf(name: string): string {
    return join(this.#stateFolder ?? '', basename(name));
  }

  async remove(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
  }

  /** Removes the files of unfinished loads, which a server that was killed could not remove. */
  async keepOnly(folders: ReadonlySet<string>): Promise<void> {
    if (this.#stateFolder === undefined) return;
    for (const name of await readdir(this.#stateFolder).catch((): string[] => [])) {
      const folder = join(this.#stateFolder, name);
      if (!folders.has(folder)) await this.remove(folder);
    }
  }

  /** Removes the files that are not to be kept; called when the server stops. */
  async close(): Promise<void> {
    if (this.#temporary !== undefined) await this.remove(await this.#temporary);
  }

  async #writeFile(folder: string, path: string, bytes: Uint8Array): Promise<void> {
    const full = join(folder, path);
    await mkdir(dirname(full), { recursive: true });
    // Kept files must be on disk before the load is acknowledged.
    await writeFile(full, bytes, { flush: this.isKept });
    await this.#letIn(full, 0o640);
    for (let above = dirname(full); above !== folder; above = dirname(above)) await this.#letIn(above, 0o750);
  }

  async #letIn(path: string, mode: number): Promise<void> {
    if (this.#readerGroup === undefined) return;
    await chown(path, -1, this.#readerGroup);
    await chmod(path, mode);
  }

  async #base(): Promise<string> {
    if (this.#stateFolder !== undefined) {
      await mkdir(this.#stateFolder, { recursive: true, mode: 0o700 });
      await this.#letIn(this.#stateFolder, 0o710);
      return this.#stateFolder;
    }
    this.#temporary ??= this.#temporaryBase();
    return this.#temporary;
  }

  async #temporaryBase(): Promise<string> {
    const folder = await mkdtemp(join(this.#temporaryFolder, 'millrace-models-'));
    await this.#letIn(folder, 0o710);
    return folder;
  }
}

/** A path cannot be both a file and a folder. */
function checkFolders(files: ReadonlyMap<string, unknown>): void {
  for (const path of files.keys()) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/');
      if (!files.has(folder)) continue;
      throw new InferenceError(
        'invalid-request',
        `${JSON.stringify(folder)} is a file, so ${JSON.stringify(path)} cannot be inside it; rename one of them`,
      );
    }
  }
}

function checkPath(path: string): void {
  const [version = '', ...rest] = path.split('/');
  const longest = Math.max(...path.split('/').map((part) => Buffer.byteLength(part)));
  if (longest > fileNameBytesMax || Buffer.byteLength(path) > filePathBytesMax) {
    throw new InferenceError(
      'invalid-request',
      `the name ${JSON.stringify(`${path.slice(0, 64)}…`)} is too long: a file name has at most ${fileNameBytesMax} bytes, the whole path ${filePathBytesMax}; shorten it`,
    );
  }
  if (staysInside(path) && isVersionName(version) && rest.length > 0 && rest.every((part) => part !== '')) return;
  throw new InferenceError(
    'invalid-request',
    `${JSON.stringify(path)} is not a file of a version; name it like "1/model.onnx"`,
  );
}
