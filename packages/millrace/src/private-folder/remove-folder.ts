import { execFile } from 'node:child_process';
import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childrenFolder } from './folder-layout.ts';

const emptyMsMax = 60_000;

/**
 * Removes a private folder. What belongs to another user, for whom child processes were started, is removed with the
 * rights of that user: a process of theirs that still runs could replace a folder by a link at the right moment,
 * and have files removed that only this process may remove.
 */
export async function removeFolder(path: string): Promise<void> {
  await removeChildren(path);
  await rm(path, { recursive: true, force: true });
}

/** Removes all entries but these. Workers whose router has died may still write while they end, so what cannot be removed stays. */
export async function clearFolder(path: string, kept: readonly string[]): Promise<void> {
  await removeChildren(path).catch(() => {});
  for (const name of await readdir(path)) {
    if (!kept.includes(name)) await rm(join(path, name), { recursive: true, force: true }).catch(() => {});
  }
}

async function removeChildren(path: string): Promise<void> {
  const children = join(path, childrenFolder);
  const found = await lstat(children).catch(() => undefined);
  if (found?.isDirectory() === true && found.uid !== (process.geteuid?.() ?? found.uid)) {
    await emptyAs(children, found);
    await rmdir(children);
  }
}

function emptyProgram(folder: string): string {
  return `
  const { readdirSync, rmSync } = require('node:fs');
  const { join } = require('node:path');
  const folder = ${JSON.stringify(folder)};
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });`;
}

async function emptyAs(folder: string, { uid, gid }: { readonly uid: number; readonly gid: number }): Promise<void> {
  const options = { uid, gid, env: {}, timeout: emptyMsMax };
  await promisify(execFile)(process.execPath, ['--eval', emptyProgram(folder)], options);
}
