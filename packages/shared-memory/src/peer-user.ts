/** Who is at the other end of a Unix socket. (Here because it needs the C library.) */
import type { Socket } from 'node:net';
import { systemCalls } from './system-calls.ts';

/** The user id of the process that connected, or that listens; undefined where it cannot be known: then nobody should be trusted. */
export function takePeerUser(socket: Socket): number | undefined {
  const descriptor = (socket as unknown as { _handle?: { fd?: number } | null })._handle?.fd;
  if (descriptor === undefined || descriptor < 0) return undefined;
  try {
    return systemCalls().peerUser(descriptor);
  } catch {
    return undefined;
  }
}
