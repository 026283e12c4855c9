/** Opens a folder with an lmdb table in it for this process alone. */
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { StoreError } from '../store-error.ts';
import type { LmdbTable } from './lmdb-table.ts';
import { Ownership } from './ownership.ts';
import { makePrivateFiles, prepareFolder, unusable } from './store-folder.ts';

export interface OwnedFolderOptions {
  readonly path: string;
  /** A write resolves when it is on disk, not only in the kernel. */
  readonly isSynced: boolean;
  readonly mapBytes?: number | undefined;
  readonly temporaryFolder?: string | undefined;
  /** Its files are made unreadable for others even where the folder is not. */
  readonly isPrivate: boolean;
  /** What the format of its rows is called. */
  readonly kind: 'store' | 'journal';
  /** A later format is refused. */
  readonly format: number;
}

export interface OwnedFolder {
  readonly folder: string;
  readonly table: LmdbTable;
  readonly ownership: Ownership;
  close(): Promise<void>;
}

export async function openOwnedFolder(options: OwnedFolderOptions): Promise<OwnedFolder> {
  const folder = resolve(options.path);
  prepareFolder(folder, options.temporaryFolder ?? tmpdir());
  if (options.isPrivate) makePrivateFiles(folder);
  await Ownership.refuseIfTaken(folder);
  const table = await openTable(folder, options);
  let ownership: Ownership | undefined;
  try {
    checkFormat(folder, table, options);
    const owned = await Ownership.take(folder, table);
    ownership = owned;
    await table.write((rows) => rows.put('format', Buffer.from(formatText(options.kind, options.format))));
    const close = async (): Promise<void> => {
      await table.close();
      owned.giveUp();
    };
    return { folder, table, ownership, close };
  } catch (error) {
    ownership?.giveUp();
    await table.close();
    throw error;
  }
}

/** lmdb is loaded only when it is used: a server without a store saves its memory and start-up time. */
async function openTable(folder: string, { isSynced, mapBytes }: OwnedFolderOptions): Promise<LmdbTable> {
  try {
    const { LmdbTable } = await import('./lmdb-table.ts');
    return new LmdbTable({ folder, isSynced, mapBytes });
  } catch (error) {
    throw unusable(folder, (error as Error).message, error);
  }
}

function formatText(kind: OwnedFolderOptions['kind'], format: number): string {
  return kind === 'store' ? `${format}` : `${kind} ${format}`;
}

function checkFormat(folder: string, table: LmdbTable, { kind, format: known }: OwnedFolderOptions): void {
  const bytes = table.get('format');
  if (bytes === undefined) return;
  const text = Buffer.from(bytes).toString();
  const format = Number(/\d+$/.exec(text)?.[0] ?? Number.NaN);
  if (text !== formatText(kind, format)) {
    throw unusable(folder, `it holds rows of the format "${text}" and no ${kind}`, undefined, 'choose another folder');
  }
  if (format <= known) return;
  throw new StoreError(
    'store-newer',
    `the ${kind} in ${folder} has format ${format}, written by a later Millrace; this one supports up to ${known}: use that Millrace again, or another folder`,
  );
}
