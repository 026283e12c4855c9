/**
 * The folder of a store on disk, looked at before lmdb opens it: lmdb ends the whole process on a file that is not its
 * own, so what can be wrong is found here and said by name.
 */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StoreError } from '../store-error.ts';
import { dataFile, isWholeDataFile } from './data-file.ts';

const lockFile = 'lock.mdb';

/** Makes the folder, for its owner alone, unless it is there; throws `store-unusable` for what cannot be a store. */
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

/** One by one: where the system refuses without a reason, as below /proc, Node's own way of making parents never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

const accessAdvice = 'name another folder, or make this one readable and writable for the server';

export function unusable(folder: string, reason: string, cause?: unknown, advice = accessAdvice): StoreError {
  return new StoreError('store-unusable', `the store in ${folder} cannot be used: ${reason}; ${advice}`, { cause });
}

function checkDataFile(folder: string, temporaryFolder: string): void {
  const path = join(folder, dataFile);
  // An empty file is one whose first opening was cut short.
  if (!existsSync(path) || statSync(path).size === 0) return;
  let isWhole: boolean;
  try {
    isWhole = isWholeDataFile(path, temporaryFolder);
  } catch (error) {
    throw unusable(folder, (error as Error).message, error);
  }
  if (isWhole) return;
  const reason = `${dataFile} is damaged or is not one of Millrace's`;
  throw unusable(folder, reason, undefined, `name another folder, or bring back a copy of ${dataFile}`);
}
