/**
 * The one folder for temporary files of a server and its child processes, closed to other users. Its lock is held as long
 * as the server lives, so that the next server can tell which folders are stale.
 */
import { chmod, chown, mkdir, mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FileLock, takeFileLock } from '@millrace/shared-memory';
import { childrenFolder, folderPrefix, lockFile } from './folder-layout.ts';
import { removeFolder } from './remove-folder.ts';
import { removeStaleFolders } from './stale-folders.ts';

/** Another server may remove a new folder as stale before it is locked; then another one is made. */
const attemptsMax = 10;

export interface PrivateFolderOptions {
  /** Where the folder is made; the system's folder for temporary files unless given. */
  readonly base?: string;
  /** The user that child processes run as, when it is not the user of this process. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

export interface PrivateFolder {
  readonly path: string;
  /** For child processes: their folder for temporary files, and their home. */
  readonly children: string;
  remove(): Promise<void>;
}

/** Also removes the folders of servers that have died. Rejects with the system's error when no folder can be made. */
export async function openPrivateFolder({ base = tmpdir(), user }: PrivateFolderOptions): Promise<PrivateFolder> {
  await removeStaleFolders(base);
  for (let attempt = 1; ; attempt++) {
    const path = await mkdtemp(join(base, `${folderPrefix}${process.pid}-`));
    const lock = await takeLockOf(path);
    if (lock === 'lost' && attempt < attemptsMax) continue;
    if (lock === 'lost') throw new Error(`${path} was removed while it was being made`);
    const children = join(path, childrenFolder);
    await mkdir(children, { mode: 0o700 });
    if (user !== undefined) await letIn(path, children, user);
    return { path, children, remove: () => removed(path, lock) };
  }
}

/** Child processes may pass through the folder to theirs, and read nothing else in it. */
async function letIn(path: string, children: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await chown(path, -1, gid);
  await chmod(path, 0o710);
  await chown(children, uid, gid);
}

/** `lost`: another server has removed the folder, or is about to. */
async function takeLockOf(path: string): Promise<FileLock | undefined | 'lost'> {
  try {
    const lock = takeFileLock(join(path, lockFile));
    if (lock === 'unavailable') return undefined;
    if (lock === 'held') return 'lost';
    // The folder may have been removed after it was made and before it was locked.
    await stat(join(path, lockFile));
    return lock;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'lost';
    throw error;
  }
}

async function removed(path: string, lock: FileLock | undefined): Promise<void> {
  try {
    await removeFolder(path);
  } catch {
    // Not all files could be removed: the next start tries again.
  } finally {
    lock?.release();
  }
}
