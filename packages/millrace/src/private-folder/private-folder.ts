/**
 * The one folder for temporary files of a server and its child processes, closed to other users. Its lock is held as long
 * as the server lives, so that the next server can tell which folders are stale.
 */
import { chmod, chown, mkdir, mkdtemp, rename, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FileLock, lockInherited, takeFileLock } from '@millrace/shared-memory';
import type { HeldFolder } from '../supervisor/messages.ts';
import { childrenFolder, folderPrefix, lastingFolder, lockFile } from './folder-layout.ts';
import { clearFolder, removeFolder } from './remove-folder.ts';
import { removeStaleFolders } from './stale-folders.ts';

/** Another server may remove a new folder as stale before it is locked; then another one is made. */
const attemptsMax = 10;

export interface PrivateFolderOptions {
  /** Where the folder is made; the system's folder for temporary files unless given. */
  readonly base?: string;
  /** The user that child processes run as, when it is not the user of this process. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The folder that a supervisor holds; without one a folder is made, and removed in the end. */
  readonly held?: HeldFolder | undefined;
}

export interface PrivateFolder {
  readonly path: string;
  /** For what outlives a restart of the router. It goes with the supervisor, or with the process that has none. */
  readonly lasting: string;
  /** For child processes: their folder for temporary files, and their home. */
  readonly children: string;
  remove(): Promise<void>;
}

/** Also removes the folders of servers that have died. Rejects with the system's error when no folder can be made. */
export async function openPrivateFolder({ base = tmpdir(), user, held }: PrivateFolderOptions): Promise<PrivateFolder> {
  if (held !== undefined) await takeHeld(held);
  await removeStaleFolders(base);
  if (held !== undefined) return { ...(await makeSubfolders(held.path, user)), remove: async () => {} };
  for (let attempt = 1; ; attempt++) {
    const path = await mkdtemp(join(base, `${folderPrefix}${process.pid}-`));
    const lock = await takeLockOf(path);
    if (lock === 'lost' && attempt < attemptsMax) continue;
    if (lock === 'lost') throw new Error(`${path} was removed while it was being made`);
    return { ...(await makeSubfolders(path, user)), remove: () => removed(path, lock) };
  }
}

/** The first router gives the folder its final name, once it is locked; those after it remove what the one before left. */
async function takeHeld({ path, firstPath, lockDescriptor }: HeldFolder): Promise<void> {
  lockInherited(lockDescriptor);
  await rename(firstPath, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  await clearFolder(path, [lockFile, lastingFolder]);
}

async function makeSubfolders(
  path: string,
  user: PrivateFolderOptions['user'],
): Promise<Omit<PrivateFolder, 'remove'>> {
  const [children, lasting] = [join(path, childrenFolder), join(path, lastingFolder)];
  for (const folder of [children, lasting]) await mkdir(folder, { mode: 0o700, recursive: true });
  if (user !== undefined) await letIn(path, children, lasting, user);
  return { path, children, lasting };
}

/** Child processes may pass through the folder to theirs and to model files that came with loads, and read nothing else in it. */
async function letIn(
  path: string,
  children: string,
  lasting: string,
  { uid, gid }: { uid: number; gid: number },
): Promise<void> {
  for (const folder of [path, lasting]) {
    await chown(folder, -1, gid);
    await chmod(folder, 0o710);
  }
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
