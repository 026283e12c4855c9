import { connect, type Socket } from 'node:net';
import { takePeerUser } from '@millrace/shared-memory';
import type { ChannelListener, WorkerChannel } from '../worker-source.ts';

/** A connection to a worker that runs on its own. Closing it is leaving: the worker lives on. */
export class AttachedChannel implements WorkerChannel {
  readonly pid = undefined;
  readonly #socket: Socket;
  /** Why this side closed it, or why it failed. */
  #problem: string | undefined;

  constructor(socketPath: string, listener: ChannelListener) {
    const socket = connect(socketPath);
    this.#socket = socket;
    socket.on('connect', () => this.#checkUser());
    socket.on('data', (chunk: Uint8Array) => listener.onData(chunk));
    // The close event follows and is handled.
    socket.on('error', (error) => {
      this.#problem ??= error.message;
    });
    socket.on('close', () => {
      const how = this.#problem === undefined ? 'ended' : `ended: ${this.#problem}`;
      listener.onEnd(`the link to the worker at ${socketPath} ${how}`);
    });
  }

  write(bytes: Uint8Array): boolean {
    if (this.#socket.destroyed) return false;
    this.#socket.write(bytes);
    return this.#socket.writableLength === 0;
  }

  kill(): void {
    this.#problem ??= 'this router left';
    this.#socket.destroy();
  }

  /** A worker sees what callers send: only one of the same user gets any of it. */
  #checkUser(): void {
    const user = takePeerUser(this.#socket);
    if (user !== undefined && user === process.getuid?.()) return;
    this.#problem = `it is of user ${user ?? 'unknown'}, and must be of user ${process.getuid?.()}, as this router is`;
    this.#socket.destroy();
  }
}
