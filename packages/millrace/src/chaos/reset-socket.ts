import type { Socket } from 'node:net';

/**
 * Closes a socket with a reset. While its end is on its way a reset fails (EINVAL), and Node then neither tells `close` nor
 * closes the descriptor: such a socket is closed without one.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
