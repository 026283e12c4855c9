/**
 * The folder of a store on disk, looked at before lmdb opens it: lmdb ends the whole process on a file that is not its
 * own, so what can be wrong is found here and said by name.
 */
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreError } from '../store-error.ts';

export const dataFile = 'data.mdb';
const lockFile = 'lock.mdb';

/** Where a page of lmdb says that it is one: behind the head of the first page, 24 bytes. */
const magicOffset = 24;
const magic = 0xbeefc0de;
const lmdbVersion = 2;
const pagesMin = 2;
const pageBytesMin = 4096;

/** Makes the folder, for its owner alone, unless it is there; throws `store-unusable` for what cannot be a store. */
export function prepareFolder(folder: string): void {
  try {
    makeFolder(folder);
    if (!statSync(folder).isDirectory()) throw new Error('it is not a folder');
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    for (const name of [dataFile, lockFile]) {
      if (existsSync(join(folder, name))) accessSync(join(folder, name), constants.R_OK | constants.W_OK);
    }
  } catch (error) {
    throw unusable(folder, (error as Error).message, error);
  }
  checkDataFile(folder);
}

/** One by one: where the system refuses without a reason, as below /proc, Node's own way of making parents never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

export function unusable(folder: string, reason: string, cause?: unknown): StoreError {
  const advice = 'name another folder, or make this one readable and writable for the server';
  return new StoreError('store-unusable', `the store in ${folder} cannot be used: ${reason}; ${advice}`, { cause });
}

function checkDataFile(folder: string): void {
  const path = join(folder, dataFile);
  // An empty file is one whose first opening was cut short.
  if (!existsSync(path) || statSync(path).size === 0) return;
  const head = Buffer.alloc(magicOffset + 8);
  const file = openSync(path, 'r');
  try {
    readSync(file, head, 0, head.length, 0);
  } finally {
    closeSync(file);
  }
  const isLmdb = head.readUInt32LE(magicOffset) === magic && head.readUInt32LE(magicOffset + 4) === lmdbVersion;
  if (isLmdb && statSync(path).size >= pagesMin * pageBytesMin) return;
  throw unusable(folder, `${dataFile} is damaged or is not one of Millrace's`);
}
