import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { InferenceError } from '@millrace/protocol';
import { staysInside } from '../label-file.ts';
import { isVersionName } from '../version-policy.ts';

/** Files in one load. */
export const overrideFilesMax = 1024;

/** Model files that came with a load, each load's in a folder of its own that nobody else may read. */
export class OverrideFiles {
  readonly #stateFolder: string | undefined;
  #temporary: Promise<string> | undefined;

  /** In `stateFolder` they outlive the server; without one they go with it. */
  constructor(stateFolder: string | undefined) {
    this.#stateFolder = stateFolder;
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
    const folder = await mkdtemp(join(await this.#base(), `${model}-`));
    for (const [path, bytes] of files) {
      const full = join(folder, path);
      await mkdir(dirname(full), { recursive: true });
      await writeFile(full, bytes);
    }
    return folder;
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

  async #base(): Promise<string> {
    if (this.#stateFolder !== undefined) {
      await mkdir(this.#stateFolder, { recursive: true, mode: 0o700 });
      return this.#stateFolder;
    }
    this.#temporary ??= mkdtemp(join(tmpdir(), 'millrace-models-'));
    return this.#temporary;
  }
}

function checkPath(path: string): void {
  const [version = '', ...rest] = path.split('/');
  if (staysInside(path) && isVersionName(version) && rest.length > 0 && rest.every((part) => part !== '')) return;
  throw new InferenceError(
    'invalid-request',
    `${JSON.stringify(path)} is not a file of a version; name it like "1/model.onnx"`,
  );
}
