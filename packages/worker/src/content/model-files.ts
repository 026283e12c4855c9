/** Finds the files of a model for a worker by their digest: where the router sees them, in the worker's cache, or at a location. */
import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type ContentFile,
  type ContentLocation,
  type LoadSpec,
  type ModelContent,
  messageFromFileError,
} from '@millrace/protocol';
import { digestOf } from './content-of.ts';
import type { FileDigests } from './file-digests.ts';

/** A load that names its model by content. */
export type ContentLoad = LoadSpec & { readonly content: ModelContent };

export interface FoundModel {
  /** The model's file, for the engine. */
  readonly path: string;
  /** Rejects when the files are no longer what was found: to be called when they have been read. */
  confirm(): Promise<void>;
}

export interface ModelFiles {
  /** Rejects with what was tried, and why it did not help. */
  find(load: ContentLoad): Promise<FoundModel>;
}

export interface LocalModelFilesOptions {
  /** Holds a folder for each content that was copied. Private to the user of this process. */
  readonly cacheFolder: string;
  readonly digests: FileDigests;
}

/** Model files on this host: used where they are, or copied from a folder. */
export class LocalModelFiles implements ModelFiles {
  readonly #options: LocalModelFilesOptions;
  /** Copies in progress, by digest: two loads of one content copy it once. */
  readonly #copying = new Map<string, Promise<string>>();

  constructor(options: LocalModelFilesOptions) {
    this.#options = options;
  }

  async find(load: ContentLoad): Promise<FoundModel> {
    const { path, content } = load;
    const { digest, file, files } = content;
    if (digestOf(files) !== digest) {
      throw new Error(`the digest ${digest} is not that of its list of files, ${digestOf(files)}`);
    }
    const tried: string[] = [];
    const found = path.endsWith(`/${file}`) ? path.slice(0, -file.length - 1) : undefined;
    for (const root of found === undefined ? [this.#cachedAt(digest)] : [found, this.#cachedAt(digest)]) {
      const problem = await this.#problemOf(root, files);
      if (problem === undefined) return this.#foundAt(root, content);
      tried.push(`in ${root} ${problem}`);
    }
    for (const location of content.locations) {
      try {
        return this.#foundAt(await this.#copy(location, content), content);
      } catch (error) {
        tried.push((error as Error).message);
      }
    }
    throw new Error(`no files of ${digest} were found: ${tried.join('; ')}`);
  }

  #cachedAt(digest: string): string {
    return join(this.#options.cacheFolder, digest.replace(':', '-'));
  }

  #foundAt(root: string, { file, files }: ModelContent): FoundModel {
    return {
      path: join(root, file),
      confirm: async () => {
        const problem = await this.#problemOf(root, files);
        if (problem !== undefined) throw new Error(`the model changed while it was loaded: in ${root} ${problem}`);
      },
    };
  }

  /** Why the files below a folder are not these; undefined: they are. */
  async #problemOf(root: string, files: readonly ContentFile[]): Promise<string | undefined> {
    for (const { path, sha256 } of files) {
      try {
        const found = await this.#options.digests.of(join(root, path));
        if (found.sha256 !== sha256) return `${path} has the SHA-256 ${found.sha256}, not ${sha256}`;
      } catch (error) {
        return `${path} ${messageFromFileError(error)}`;
      }
    }
    return undefined;
  }

  #copy(location: ContentLocation, content: ModelContent): Promise<string> {
    if (location.kind !== 'folder') {
      return Promise.reject(new Error(`this worker cannot fetch from a location of kind "${location.name}"`));
    }
    const inProgress = this.#copying.get(content.digest);
    if (inProgress !== undefined) return inProgress;
    const copying = this.#copyFolder(location.path, content).finally(() => this.#copying.delete(content.digest));
    this.#copying.set(content.digest, copying);
    return copying;
  }

  /** Copies into a folder of its own, which gets its name when it is complete and right. */
  async #copyFolder(from: string, { digest, files }: ModelContent): Promise<string> {
    const target = this.#cachedAt(digest);
    await mkdir(this.#options.cacheFolder, { recursive: true, mode: 0o700 });
    const incoming = await mkdtemp(join(this.#options.cacheFolder, 'incoming-'));
    try {
      for (const { path } of files) {
        await mkdir(dirname(join(incoming, path)), { recursive: true });
        await copyFile(join(from, path), join(incoming, path)).catch((error: unknown) => {
          throw new Error(`${join(from, path)} ${messageFromFileError(error)}`);
        });
      }
      const problem = await this.#problemOf(incoming, files);
      if (problem !== undefined) throw new Error(`the copy from ${from} was refused: ${problem}`);
      await this.#replace(target, incoming, files);
      return target;
    } catch (error) {
      await rm(incoming, { recursive: true, force: true });
      throw error;
    }
  }

  /** Another worker with this cache may have been faster: then its copy stays, which an engine may be reading. */
  async #replace(target: string, incoming: string, files: readonly ContentFile[]): Promise<void> {
    try {
      await rename(incoming, target);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    }
    const isWhole = (await this.#problemOf(target, files)) === undefined;
    await rm(isWhole ? incoming : target, { recursive: true, force: true });
    if (!isWhole) await rename(incoming, target);
  }
}
