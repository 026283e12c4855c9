/** Describes the files of a model by what they contain. docs/reference/dispatch.md defines which files, and the digest. */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import {
  type ContentFile,
  contentFilesMax,
  contentManifestOf,
  contentPathProblem,
  type LoadSpec,
  type ModelContent,
  messageFromFileError,
} from '@millrace/protocol';
import type { FileDigests } from './file-digests.ts';

/** How deep folders inside a version are read. */
const depthMax = 16;

/** Rejects when a file cannot be read or be part of a content. */
export async function contentOf(
  { path, folder }: Pick<LoadSpec, 'path' | 'folder'>,
  digests: FileDigests,
): Promise<ModelContent> {
  const root = folder ?? dirname(path);
  const paths = folder === undefined ? await looseFiles(path) : await filesBelow(folder, '', depthMax);
  const files: ContentFile[] = [];
  for (const file of paths) {
    const problem = contentPathProblem(file);
    if (problem !== undefined) throw new Error(`the path of a file in ${root}, ${problem}`);
    const { bytes, sha256 } = await orSaid(join(root, file), digests.of(join(root, file)));
    files.push({ path: file, bytes, sha256 });
  }
  const file = relative(root, path);
  return { digest: digestOf(files), file, files, locations: [{ kind: 'folder', path: root }] };
}

export function digestOf(files: readonly ContentFile[]): string {
  return `sha256:${createHash('sha256').update(contentManifestOf(files)).digest('hex')}`;
}

/** The file, and those beside it that may hold its weights: exporters name them after it (`m.onnx.data`, `m.data`). */
async function looseFiles(path: string): Promise<string[]> {
  const own = basename(path);
  const prefix = `${own.replace(/\.onnx$/, '')}.`;
  const isWeights = (name: string): boolean => name.startsWith(prefix) && !name.endsWith('.onnx') && name !== own;
  const files = [own];
  const folder = dirname(path);
  for (const name of await orSaid(folder, readdir(folder))) {
    if (isWeights(name) && (await stat(join(folder, name))).isFile()) files.push(name);
  }
  return files;
}

/** Links are followed, as an engine follows them. */
async function filesBelow(root: string, inside: string, depth: number, found: string[] = []): Promise<string[]> {
  if (depth < 0) throw new Error(`the folder ${root} has more than ${depthMax} levels of folders; remove some`);
  const folder = join(root, inside);
  for (const name of await orSaid(folder, readdir(folder))) {
    const path = inside === '' ? name : `${inside}/${name}`;
    const stats = await orSaid(join(root, path), stat(join(root, path)));
    if (stats.isDirectory()) await filesBelow(root, path, depth - 1, found);
    else if (stats.isFile()) found.push(path);
    if (found.length > contentFilesMax) {
      throw new Error(
        `the folder ${root} has more than ${contentFilesMax} files; remove those that are not the model's`,
      );
    }
  }
  return found;
}

/** With errors of the file system in plain words. */
async function orSaid<T>(path: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw new Error(`${path} ${messageFromFileError(error)}`);
    throw error;
  }
}
