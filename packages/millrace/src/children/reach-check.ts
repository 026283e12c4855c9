/** Checks that child processes that run as another user can read the files they need, so that one error lists all of them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ConfigError } from '@millrace/protocol';
import type { WorkerUser } from './worker-user.ts';

const checkMsMax = 60_000;

/** Prints the files that cannot be read and the folders that cannot be listed and entered. */
function program(paths: readonly string[]): string {
  return `
  const { accessSync, constants, statSync } = require('node:fs');
  const unreachable = ${JSON.stringify(paths)}.filter((path) => {
    try {
      accessSync(path, constants.R_OK | (statSync(path).isDirectory() ? constants.X_OK : 0));
      return false;
    } catch (error) {
      return error.code === 'EACCES';
    }
  });
  console.log(JSON.stringify(unreachable));`;
}

/** Rejects with a `ConfigError` that lists every path the user cannot reach. */
export async function checkReach({ name, uid, gid }: WorkerUser, paths: readonly string[]): Promise<void> {
  let unreachable: readonly string[];
  try {
    const options = { uid, gid, env: {}, timeout: checkMsMax };
    const { stdout } = await promisify(execFile)(process.execPath, ['--eval', program(paths)], options);
    unreachable = JSON.parse(stdout) as readonly string[];
  } catch (error) {
    const message = `${process.execPath} cannot be run as ${name}: ${(error as Error).message.split('\n')[0]}`;
    throw new ConfigError([{ source: name, field: 'worker.user', message }]);
  }
  if (unreachable.length === 0) return;
  throw new ConfigError(
    unreachable.map((path) => {
      const message = `${name} cannot read ${path}; give it access there and to the folders above (setfacl -m u:${name}:rx, chgrp or chmod)`;
      return { source: name, field: 'worker.user', message };
    }),
  );
}
