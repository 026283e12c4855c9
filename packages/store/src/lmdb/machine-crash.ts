/**
 * A table that is not flushed survives its process, not its machine: afterwards any of its pages may be old, and lmdb ends the
 * process that reads such a file. So the folder says in which run of the machine it was written, and after another one a copy
 * is read by a separate process first.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataFile, isReadableDataFile } from './data-file.ts';
import { unusable } from './store-folder.ts';

const bootFile = 'boot';
/** A new random id at each start of the kernel; only Linux has it. */
const kernelBootFile = '/proc/sys/kernel/random/boot_id';

/** Throws `store-unusable` if the machine was restarted since and the file did not survive it. */
export function checkAfterMachineCrash(folder: string, temporaryFolder: string): void {
  const written = textIn(join(folder, bootFile));
  const path = join(folder, dataFile);
  if (written === undefined || written === textIn(kernelBootFile) || !existsSync(path)) return;
  if (isReadableDataFile(path, temporaryFolder)) return;
  const reason = `${dataFile} was damaged when the machine stopped, which the durability "process" does not prevent`;
  throw unusable(folder, reason, undefined, 'remove the folder; choose the durability "power" if that must not happen');
}

/** From here on the folder is written without flushes, in this run of the machine. */
export function noteMachineRun(folder: string): void {
  const boot = textIn(kernelBootFile);
  if (boot !== undefined) writeFileSync(join(folder, bootFile), boot, { mode: 0o600 });
}

function textIn(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
