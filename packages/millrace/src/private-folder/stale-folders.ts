/** Removes the folders of servers that could not do so themselves: they were killed, or the machine was reset. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { takeFileLock } from '@millrace/shared-memory';
import { firstFolderName, folderName, lockFile } from './folder-layout.ts';
import { removeFolder } from './remove-folder.ts';

/** A router locks and renames the folder of its supervisor in less than a second; one that is older was abandoned. */
const firstNameMsMax = 3_600_000;

/** Never rejects: what cannot be removed stays for the next start. */
export async function removeStaleFolders(base: string): Promise<void> {
  for (const name of await readdir(base).catch((): string[] => [])) {
    if (firstFolderName.test(name)) await removeAbandoned(join(base, name)).catch(() => {});
    const pid = folderName.exec(name)?.[1];
    if (pid === undefined) continue;
    const path = join(base, name);
    try {
      if (await isOwnFolder(path)) await removeIfStale(path, Number(pid));
    } catch {
      // Another server has removed it already, or the folder is damaged.
    }
  }
}

async function removeAbandoned(path: string): Promise<void> {
  const { mtimeMs } = await lstat(path);
  if (Date.now() - mtimeMs > firstNameMsMax && (await isOwnFolder(path))) await removeFolder(path);
}

/** Any user can create an entry of this name in a shared folder: links, and folders of other users, are not touched. */
async function isOwnFolder(path: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isDirectory() && found.uid === (process.geteuid?.() ?? found.uid);
}

/** A folder without a lock file is locked too: its owner may be about to make it, and then makes another folder. */
async function removeIfStale(path: string, pid: number): Promise<void> {
  const lock = takeFileLock(join(path, lockFile));
  if (lock === 'held') return;
  if (lock === 'unavailable') {
    if (!isAlive(pid)) await removeFolder(path);
    return;
  }
  try {
    await removeFolder(path);
  } finally {
    lock.release();
  }
}

/** Only where there are no locks: a process id may be used again, or be seen from another container. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
