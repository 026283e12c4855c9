import { existsSync, readFileSync } from 'node:fs';

/** A process that ended and was not waited for yet is not alive. */
export function isAlive(pid: number): boolean {
  if (existsSync('/proc/self/stat')) {
    try {
      return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    } catch {
      return false;
    }
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
