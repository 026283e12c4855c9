/** A lock that the kernel releases when its holder ends, however it ends. (Here because it needs the C library.) */
import { closeSync, constants, openSync } from 'node:fs';
import { type SystemCalls, systemCalls } from './system-calls.ts';

export interface FileLock {
  release(): void;
}

/** `unavailable`: the calls cannot be had here, so nobody holds such locks. */
export type LockOutcome = FileLock | 'held' | 'unavailable';

/**
 * Locks the file, which is made unless it is there. Throws when it cannot be opened; a symbolic link is not followed.
 * Child processes do not inherit the lock.
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
