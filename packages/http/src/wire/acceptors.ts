/**
 * Further handles of a listening socket. libuv accepts one connection for each handle in a turn of the event loop: with one of them a
 * caller that connects more often than the loop turns fills the queue of the socket, and everybody's new connections wait behind his.
 */
import { createServer, type Server, type Socket } from 'node:net';

/** Another descriptor of the same socket, which the caller closes. Throws where there is none. */
export type DuplicateDescriptor = (descriptor: number) => number;

/** Connections that a server accepts in a turn of the event loop, at most. */
export const acceptsPerTurn = 8;

/** For connections that wait to be accepted: what the first handle was opened with. */
export interface AcceptorOptions {
  readonly backlog: number;
  readonly duplicate: DuplicateDescriptor;
  readonly onError: (error: Error) => void;
}

export class Acceptors {
  readonly #servers: Server[] = [];

  /** What they accept becomes connections of `server`, which listens already. */
  async open(server: Server, { backlog, duplicate, onError }: AcceptorOptions): Promise<void> {
    const descriptor = descriptorOf(server);
    if (descriptor === undefined) return;
    for (let count = 1; count < acceptsPerTurn; count++) {
      const acceptor = createServer({ allowHalfOpen: true, noDelay: true });
      acceptor.on('connection', (socket: Socket) => server.emit('connection', socket));
      await new Promise<void>((resolve, reject) => {
        acceptor.once('error', reject);
        acceptor.listen({ fd: duplicate(descriptor), backlog }, () => {
          acceptor.off('error', reject);
          resolve();
        });
      });
      acceptor.on('error', onError);
      this.#servers.push(acceptor);
    }
  }

  /** Accepts nothing more; resolves when all connections that they accepted have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Node has no public name for it. */
function descriptorOf(server: Server): number | undefined {
  const { fd } = (server as unknown as { readonly _handle?: { readonly fd?: number } | null })._handle ?? {};
  return fd === undefined || fd < 0 ? undefined : fd;
}
