/** Limits that a process asks the kernel to set on itself. (Here because it needs the C library.) */
import { type SystemCalls, systemCalls } from './system-calls.ts';

/**
 * For a child process, to be called first. The kernel kills it when its parent ends, also when the parent was killed
 * and this process is too busy to notice; and nothing that it executes can have more rights than it has. Does nothing
 * where the kernel does not support it. The thread that spawned the process counts as its parent.
 */
export function confineChild(): void {
  attempt((calls) => calls.endWithParent());
  refuseNewPrivileges();
}

/**
 * Nothing that this thread, or a process or thread started by it from now on, executes gains rights by a set-user-ID bit or
 * file capabilities (no_new_privs). Cannot be undone. Does nothing where the kernel does not support it.
 */
export function refuseNewPrivileges(): void {
  attempt((calls) => calls.refuseNewPrivileges());
}

/**
 * Sets a variable that native libraries read by `getenv`: in a worker thread Node gives JavaScript a
 * copy of the environment, and they do not see what is set there.
 */
export function setNativeEnvironment(name: string, value: string): void {
  attempt((calls) => calls.setEnvironment(name, value));
}

/** Without the system calls (another system, or no binary of koffi) a process runs unconfined. */
function attempt(call: (calls: SystemCalls) => void): void {
  try {
    call(systemCalls());
  } catch {
    // Each of these narrows what a process may do; none is needed for what it does.
  }
}
