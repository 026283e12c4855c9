import { systemCalls } from './system-calls.ts';

/**
 * Has the kernel end this process when its parent ends, also when the parent was killed and this process is too busy to
 * notice anything. Does nothing where the kernel has no such service. (Here because it needs the C library; the thread
 * that spawned the process counts as its parent.)
 */
export function endWithParent(): void {
  try {
    systemCalls().endWithParent();
  } catch {
    // Then the process ends when it next looks at its socket.
  }
}
