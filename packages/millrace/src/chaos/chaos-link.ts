/** One connection through the chaos proxy: the client's socket, the server's, and a direction each way. */
import type { Socket } from 'node:net';
import { ChaosDirection, type DirectionParts, type Shaping } from './chaos-direction.ts';
import { resetSocket } from './reset-socket.ts';

export interface LinkEnd {
  /** From the client to the server, and back. */
  readonly upBytes: number;
  readonly downBytes: number;
  /** Why it ended: `closed` by its ends, or what a fault or an error did. */
  readonly reason: string;
}

export class ChaosLink {
  readonly id: number;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #up: ChaosDirection;
  readonly #down: ChaosDirection;
  readonly #onEnd: (end: LinkEnd) => void;
  #reason = 'closed';
  #isHeld: boolean = false;
  #isLost: boolean = false;
  #isShaped: boolean = false;
  readonly #closed = new Set<Socket>();
  /** Sides that will send nothing more. */
  readonly #silent = new Set<Socket>();

  constructor(id: number, client: Socket, server: Socket, parts: DirectionParts, onEnd: (end: LinkEnd) => void) {
    this.id = id;
    this.#client = client;
    this.#server = server;
    this.#onEnd = onEnd;
    this.#up = new ChaosDirection(client, server, parts);
    this.#down = new ChaosDirection(server, client, parts);
    for (const [socket, other, name] of [
      [client, server, 'client'],
      [server, client, 'server'],
    ] as const) {
      socket.once('end', () => this.#noteSilent(socket));
      socket.on('error', (error: NodeJS.ErrnoException) => {
        if (this.#reason === 'closed') this.#reason = `${name}: ${error.code ?? error.message}`;
        socket.destroy();
        // The other side hears of it as it would without a proxy, unless nothing passes.
        if (!this.#isLost && !this.#isHeld) resetSocket(other);
      });
      socket.once('close', () => this.#noteClosed(socket));
    }
  }

  /** No fault keeps anything from passing. */
  get isHealthy(): boolean {
    return !this.#isLost && !this.#isHeld && !this.#isShaped && !this.#client.destroyed && !this.#server.destroyed;
  }

  /** A black hole, from which nothing comes back. */
  get isLost(): boolean {
    return this.#isLost;
  }

  shape(shaping: Shaping): void {
    this.#isShaped = shaping.delayMs + shaping.jitterMs > 0 || shaping.bytesPerSecond !== undefined;
    this.#up.shape(shaping);
    this.#down.shape(shaping);
  }

  hold(isHeld: boolean): void {
    if (this.#isHeld === isHeld) return;
    this.#isHeld = isHeld;
    this.#up.hold(isHeld);
    this.#down.hold(isHeld);
    // What died meanwhile is told now.
    if (!isHeld && this.#closed.size === 1) this.reset(this.#reason);
  }

  /** Neither side hears anything more, not even that the other has closed. */
  swallow(): void {
    this.#isLost = true;
    this.#reason = 'black-hole';
    this.#up.kill();
    this.#down.kill();
    this.#endIfSilent();
  }

  halfClose(side: 'client' | 'server'): void {
    const direction = side === 'client' ? this.#down : this.#up;
    direction.kill();
    (side === 'client' ? this.#client : this.#server).end();
  }

  cut(reason: string): void {
    this.#reason = reason;
    this.#client.destroy();
    this.#server.destroy();
  }

  reset(reason: string): void {
    this.#reason = reason;
    resetSocket(this.#client);
    resetSocket(this.#server);
  }

  #noteSilent(socket: Socket): void {
    this.#silent.add(socket);
    this.#endIfSilent();
  }

  /** Nobody would ever close what both sides of a lost connection have given up. */
  #endIfSilent(): void {
    if (this.#isLost && this.#silent.size === 2) this.cut(this.#reason);
  }

  #noteClosed(socket: Socket): void {
    if (this.#closed.has(socket)) return;
    this.#closed.add(socket);
    this.#noteSilent(socket);
    if (this.#closed.size < 2) return;
    this.#up.kill();
    this.#down.kill();
    this.#onEnd({ upBytes: this.#up.passedBytes, downBytes: this.#down.passedBytes, reason: this.#reason });
  }
}
