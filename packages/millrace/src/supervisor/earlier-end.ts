/** What the end of the router before this one says about the streams that it was restoring. */
import type { EarlierEnd } from '@millrace/router/internal';
import type { RouterRestart } from './messages.ts';

/** A kill as well as a crash to the supervisor, which only decides when the next router starts. */
const crashSignals: ReadonlySet<string> = new Set(['SIGBUS', 'SIGSEGV', 'SIGILL', 'SIGFPE', 'SIGABRT', 'SIGTRAP']);

export function earlierEndFrom(restart: RouterRestart | undefined): EarlierEnd {
  if (restart === undefined) return 'unknown';
  const { cause, signal } = restart;
  return cause === 'crashed' || (signal !== null && crashSignals.has(signal)) ? 'crashed' : 'killed';
}
