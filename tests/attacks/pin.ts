/** Pins server and workers to one core and all other processes to the other, where the system allows it: for measurements, not for verdicts. */
import { execFileSync } from 'node:child_process';

export function moveToCore(core: number, pids: readonly number[]): void {
  for (const pid of pids) execFileSync('taskset', ['-a', '-p', '-c', String(core), String(pid)], { stdio: 'ignore' });
}

/**
 * Before an attacker on the same core, where that is allowed: it must wait for the server, not for the attacker. With all its threads:
 * otherwise those that compile its code and collect its garbage wait for the attacker, and it runs uncompiled.
 */
export function takePrecedence(pid: number): void {
  try {
    execFileSync('chrt', ['-a', '-r', '-p', '1', String(pid)], { stdio: 'ignore' });
  } catch {
    // Without the right to it both compete for the core.
  }
}
