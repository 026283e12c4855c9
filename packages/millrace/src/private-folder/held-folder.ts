/** The private folder as its supervisor makes and removes it: without the C library, so without locking it. */
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { folderPrefix, lockFile } from './folder-layout.ts';

export interface HeldFolderFiles {
  readonly path: string;
  /** Its name until a router has locked it: only folders with the final name are removed as stale. */
  readonly firstPath: string;
  /** The lock file. Routers inherit it and lock it, and the lock is held until this process and its routers have ended. */
  readonly descriptor: number;
}

/** Undefined where no folder can be made; each router then tries by itself, and says why it cannot. */
export function createHeldFolder(base: string = tmpdir()): HeldFolderFiles | undefined {
  let firstPath: string;
  try {
    firstPath = mkdtempSync(join(base, `.${folderPrefix}${process.pid}-`));
  } catch {
    return undefined;
  }
  try {
    const descriptor = openSync(join(firstPath, lockFile), 'wx+', 0o600);
    return { path: join(base, basename(firstPath).slice(1)), firstPath, descriptor };
  } catch {
    rmSync(firstPath, { recursive: true, force: true });
    return undefined;
  }
}

/** Must be called when no router is left. Never rejects: what cannot be removed stays for the start of the next server. */
export async function removeHeldFolder(folder: HeldFolderFiles | undefined): Promise<void> {
  if (folder === undefined) return;
  try {
    const { removeFolder } = await import('./remove-folder.ts');
    for (const path of [folder.firstPath, folder.path]) await removeFolder(path);
  } catch {
    // Workers of a router that was killed may still be ending.
  } finally {
    closeSync(folder.descriptor);
  }
}
