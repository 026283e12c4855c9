import type { Socket } from 'node:net';
import type { HttpLimits } from './config.ts';

export function originOf(address: string, port: number): string {
  return `${address} ${port}`;
}

/** Counts the connections that are open, handshakes under way among them, in all and by address. */
export class ConnectionDoor {
  readonly #limits: HttpLimits;
  readonly #sockets = new Set<Socket>();
  readonly #perAddress = new Map<string, number>();

  constructor(limits: HttpLimits) {
    this.#limits = limits;
  }

  /** False when this one is one too many. */
  admit(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const fromThere = this.#perAddress.get(address) ?? 0;
    if (this.#sockets.size >= this.#limits.connectionsMax || fromThere >= this.#limits.connectionsPerAddressMax) {
      return false;
    }
    this.#sockets.add(socket);
    this.#perAddress.set(address, fromThere + 1);
    socket.once('close', () => this.#leave(socket, address));
    return true;
  }

  /** Closes what has not become a connection yet: the handshakes. A TLS socket and the one under it share an origin. */
  close(established: ReadonlySet<string>): void {
    for (const socket of this.#sockets) {
      if (!established.has(originOf(socket.remoteAddress ?? '', socket.remotePort ?? 0))) socket.destroy();
    }
  }

  #leave(socket: Socket, address: string): void {
    this.#sockets.delete(socket);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }
}
