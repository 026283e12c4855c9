import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { InferenceError } from '@millrace/protocol';
import { isVersionName } from '../../model/version-name.ts';
import { staysInside } from '../../repository/label-file.ts';

/** Files in one load. */
export const overrideFilesMax = 1024;
/** What file systems take. */
export const fileNameBytesMax = 255;
/** Leaves room in what file systems take for the folder that they are put into. */
export const filePathBytesMax = 1024;

export interface OverrideFilesOptions {
  /** There they outlive the server; without one they go with it. */
  readonly stateFolder?: string | undefined;
  /** Where they are when they are not kept; the system's folder for temporary files unless given. */
  readonly temporaryFolder?: string | undefined;
  /** The group that may read them, beside the server's user. */
  readonly readerGroup?: number | undefined;
}

/** Model files that came with a load, each load's in a folder of its own that only the server and its workers may read. */
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

  /** Whether what is written is there after a restart. */
  get isKept(): boolean {
    return this.#stateFolder !== undefined;
  }

  /** Writes the files of a load; the folder stands for the model's. */
  async write(model: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
    if (files.size > overrideFilesMax) {
      throw new InferenceError(
        'request-too-large',
        `${files.size} files are more than the ${overrideFilesMax} of one load`,
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

  /** How a folder is named in what is kept: the store may be moved, and its files with it. */
  nameOf(folder: string): string {
    return basename(folder);
  }

  /** Where the files are that were kept under a name, or under the whole path of a folder that was elsewhere then. */
  folderOf(name: string): string {
    return join(this.#stateFolder ?? '', basename(name));
  }

  async remove(folder: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
  }

  /** Removes what was left behind by loads that were never finished: a server that was killed could not. */
  async keepOnly(folders: ReadonlySet<string>): Promise<void> {
    if (this.#stateFolder === undefined) return;
    for (const name of await readdir(this.#stateFolder).catch((): string[] => [])) {
      const folder = join(this.#stateFolder, name);
      if (!folders.has(folder)) await this.remove(folder);
    }
  }

  /** The server ends: what it was not asked to keep goes. */
  async close(): Promise<void> {
    if (this.#temporary !== undefined) await this.remove(await this.#temporary);
  }

  async #writeFile(folder: string, path: string, bytes: Uint8Array): Promise<void> {
    const full = join(folder, path);
    await mkdir(dirname(full), { recursive: true });
    // What is kept is to be on the disk before the load is acknowledged.
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

/** A path that is a file's cannot be a folder's, too. */
function checkFolders(files: ReadonlyMap<string, unknown>): void {
  for (const path of files.keys()) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/');
      if (!files.has(folder)) continue;
      throw new InferenceError(
        'invalid-request',
        `${JSON.stringify(folder)} is a file, so ${JSON.stringify(path)} cannot lie in it; rename one of them`,
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
      `the name ${JSON.stringify(`${path.slice(0, 64)}…`)} is too long: a file's has at most ${fileNameBytesMax} bytes, its whole path ${filePathBytesMax}`,
    );
  }
  if (staysInside(path) && isVersionName(version) && rest.length > 0 && rest.every((part) => part !== '')) return;
  throw new InferenceError(
    'invalid-request',
    `${JSON.stringify(path)} is not a file of a version; name it like "1/model.onnx"`,
  );
}
