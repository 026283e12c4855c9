/**
 * Checks the folder of a store on disk before lmdb opens it: lmdb kills the whole process on a file that is not its
 * own, so problems are found and reported here.
 */
import { accessSync, chmodSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreError } from '../store-error.ts';
import { dataFile, isWholeDataFile } from './data-file.ts';

const lockFile = 'lock.mdb';

/**
 * Creates the folder, for its owner alone, if it does not exist; throws `store-unusable` for what cannot be a store.
 */
export function prepareFolder(folder: string, temporaryFolder: string): void {
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
  checkDataFile(folder, temporaryFolder);
}

/** Lets the owner alone read the files, in whatever folder they are; lmdb would create them readable for others. */
export function makePrivateFiles(folder: string): void {
  try {
    for (const name of [dataFile, lockFile]) {
      const path = join(folder, name);
      closeSync(openSync(path, 'a', 0o600));
      chmodSync(path, 0o600);
    }
  } catch (error) {
    throw unusable(folder, (error as Error).message, error);
  }
}

/** One by one: where the system refuses without a reason, as below /proc, Node's own creation of parents never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

const accessAdvice = 'choose another folder, or make this one readable and writable for the server';

export function unusable(folder: string, reason: string, cause?: unknown, advice = accessAdvice): StoreError {
  return new StoreError('store-unusable', `the store in ${folder} cannot be used: ${reason}; ${advice}`, { cause });
}

function checkDataFile(folder: string, temporaryFolder: string): void {
  const path = join(folder, dataFile);
  // An empty file is left by a first opening that was interrupted.
  if (!existsSync(path) || statSync(path).size === 0) return;
  let isWhole: boolean;
  try {
    isWhole = isWholeDataFile(path, temporaryFolder);
  } catch (error) {
    throw unusable(folder, (error as Error).message, error);
  }
  if (isWhole) return;
  const reason = `${dataFile} is damaged or was not written by Millrace`;
  throw unusable(folder, reason, undefined, `choose another folder, or restore a copy of ${dataFile}`);
}
