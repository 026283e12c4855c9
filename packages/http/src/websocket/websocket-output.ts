/** The frames that a WebSocket connection sends, collected until the tick ends. What waits to be sent is counted as memory. */
import { Sender } from 'ws';
import type { ConnectionHost } from '../wire/connection-host.ts';
import type { MemoryLease } from '../wire/memory.ts';
import { Output } from '../wire/output.ts';
import type { Connection, Transport } from '../wire/transport.ts';

export class WebSocketOutput {
  readonly #host: ConnectionHost;
  readonly #memory: MemoryLease;
  readonly #connection: Connection;
  readonly #output: Output;
  #isFlushQueued: boolean = false;

  /** The connection's `flush` is called at the end of the tick. */
  constructor(host: ConnectionHost, transport: Transport, memory: MemoryLease, connection: Connection) {
    this.#host = host;
    this.#memory = memory;
    this.#connection = connection;
    this.#output = new Output(host.arena, transport);
  }

  get unsentBytes(): number {
    return this.#output.unsentBytes;
  }

  /** Room for another message. */
  get isRoomy(): boolean {
    return this.#output.unsentBytes < this.#host.limits.outputBytesMax;
  }

  /** So much is unsent that the client, which causes it, is no longer read. */
  get isFull(): boolean {
    return this.#output.unsentBytes >= 2 * this.#host.limits.outputBytesMax;
  }

  sendFrame(opcode: number, payload: Uint8Array): void {
    for (const piece of Sender.frame(payload, { fin: true, opcode })) this.append(piece);
  }

  append(piece: Uint8Array): void {
    const bytes = piece.length;
    if (!this.#output.append(piece)) {
      this.#memory.count(bytes);
      this.#output.whenTaken(() => this.#memory.give(bytes));
    }
    if (this.#isFlushQueued) return;
    this.#isFlushQueued = true;
    this.#host.flushLater(this.#connection);
  }

  flush(): void {
    this.#isFlushQueued = false;
    this.#output.flush();
  }

  discard(): void {
    this.#output.discard();
  }
}
