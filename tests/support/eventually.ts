import { existsSync, readFileSync } from 'node:fs';

/** Waits for what another process does: repeats the check until it holds, and fails after a time limit. */
const lookMs = 10;

export async function eventually(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  withinMs = 20_000,
): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!(await isSo())) {
    if (performance.now() > giveUpAt) throw new Error(`timed out after ${withinMs} ms waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

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
