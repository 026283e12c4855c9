/** How often a connection is checked, for every version of HTTP. */
import type { HttpLimits } from './config.ts';

export const checkMsMax = 1000;
/** How long a closing connection may take. */
export const lingerMs = 2000;

/** How long a connection without a request stays open when the server drains: a request may be in transit. */
export const drainQuietMs = 250;

/** Once a second, or as often as the shortest limit requires. */
export function checkMsOf(limits: HttpLimits): number {
  return Math.min(
    checkMsMax,
    limits.prefaceMsMax,
    limits.headMsMax,
    limits.idleMsMax,
    limits.responseStallMsMax,
    limits.bodyStallMsMax,
    limits.bodyMsMax,
    limits.memoryWaitMsMax,
    limits.connectionAgeMsMax,
    limits.connectionAgeGraceMs,
  );
}

/** Whether enough of a body arrived, in a window long enough to tell. */
export function isBodyQuickEnough(bytes: number, elapsedMs: number, { bodyBytesPerSecondMin }: HttpLimits): boolean {
  return bytes > 0 && bytes * 1000 >= bodyBytesPerSecondMin * elapsedMs;
}
