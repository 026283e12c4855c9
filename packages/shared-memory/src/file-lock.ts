/** A lock that the kernel releases when its holder ends in any way. (Here because it needs the C library.) */
import { closeSync, constants, openSync } from 'node:fs';
import { type SystemCalls, systemCalls } from './system-calls.ts';

export interface FileLock {
  release(): void;
}

/** `unavailable`: the system calls are not available here, so nobody holds such locks. */
export type LockOutcome = FileLock | 'held' | 'unavailable';

/**
 * Locks the file, which is created if it does not exist. Throws when it cannot be opened; a symbolic link is not
 * followed. Child processes do not inherit the lock.
 */
export function takeFileLock(path: string): LockOutcome {
  let calls: SystemCalls;
  try {
    calls = systemCalls();
  } catch {
    return 'unavailable';
  }
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  if (!calls.lock(descriptor)) {
    closeSync(descriptor);
    return 'held';
  }
  return { release: () => closeSync(descriptor) };
}

/**
 * Locks an open file that this process has inherited, and that the process it inherited from keeps open: the lock is held
 * until both have ended. Without effect where the system calls are not available.
 */
export function lockInherited(descriptor: number): void {
  let calls: SystemCalls;
  try {
    calls = systemCalls();
  } catch {
    return;
  }
  if (!calls.lock(descriptor)) throw new Error(`descriptor ${descriptor} is locked by another process`);
}
