/** Tells a process below npx that npx is gone. */

/** How often it is checked; the system reports nothing about parents. */
const checkMs = 500;

/** The part of `process` that is used here. */
export interface ProcessBelow {
  readonly ppid: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Calls back once when the parent process has ended; returns a function that stops watching. Only below npx: it passes
 * signals on to a shell, which ends without telling the server. Any other parent may end before a server that it started,
 * as shells and scripts do.
 */
export function watchParent(self: ProcessBelow, onGone: () => void): () => void {
  if (self.env.npm_command !== 'exec') return () => {};
  const parent = self.ppid;
  const timer = setInterval(() => {
    if (self.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, checkMs);
  timer.unref();
  return () => clearInterval(timer);
}
