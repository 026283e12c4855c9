/** How a worker exchanges messages with its router: two ways of using one socket. */
import type { Socket } from 'node:net';
import { type DirectSocket, receiveBytesMax } from '@millrace/shared-memory';

export interface WireListener {
  receive(chunk: Uint8Array): void;
  /** The router has closed the connection. */
  ended(): void;
  /** Whether work is waiting or in progress. */
  isBusy(): boolean;
}

export interface RouterWire {
  /** To be called once, before anything else. */
  open(listener: WireListener): void;
  /** True when the kernel took all bytes at once, so that the memory may be reused. */
  write(bytes: Uint8Array): boolean;
  /** The worker is between two jobs: receives what has arrived, which may concern the next one. */
  listen(): void;
  /** The worker has nothing to do. */
  rest(): void;
  /** Calls back when everything written has been handed to the kernel. */
  end(onEnded: () => void): void;
}

/** By the event loop: for engines whose runs continue while messages are exchanged, and where the other way is not available. */
export class EventWire implements RouterWire {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  open(listener: WireListener): void {
    this.#socket.on('data', (chunk: Buffer) => listener.receive(chunk));
    this.#socket.on('error', (error) => process.stderr.write(`socket to the router failed: ${error.message}\n`));
    this.#socket.on('end', () => listener.ended());
    this.#socket.on('close', () => listener.ended());
  }

  write(bytes: Uint8Array): boolean {
    this.#socket.write(bytes);
    return this.#socket.writableLength === 0;
  }

  listen(): void {}

  rest(): void {}

  end(onEnded: () => void): void {
    this.#socket.end(onEnded);
  }
}

/** A waiting worker wakes up this often, for other events of the process. */
export const waitMsMax = 1000;
/** Other events of the process wait for at most so many messages. */
const messagesATurnMax = 32;

/**
 * Bypasses the event loop: a worker that runs one batch after the other reads the socket between two of them, and waits for
 * it when there is none. This saves some 30 microseconds a batch.
 */
export class AttentiveWire implements RouterWire {
  readonly #socket: DirectSocket;
  #listener: WireListener | undefined;
  /** The socket was read just now, for the job that begins. */
  #isRead: boolean = false;
  /** How often the socket was waited for since the event loop had its turn. */
  #waits = 0;

  constructor(socket: DirectSocket) {
    this.#socket = socket;
  }

  open(listener: WireListener): void {
    this.#listener = listener;
    this.rest();
  }

  write(bytes: Uint8Array): boolean {
    this.#socket.send(bytes);
    return true;
  }

  listen(): void {
    const isRead = this.#isRead;
    this.#isRead = false;
    if (!isRead) this.#receiveAll(this.#socket.receive());
  }

  /**
   * Waits only after what was appended in this turn has been written. Where router and worker share a core, the router does not run
   * before the worker waits, so everything here adds to the time of a lone request: the event loop has its turn only now and then.
   */
  rest(): void {
    if (this.#waits < messagesATurnMax) queueMicrotask(this.#wait);
    else setImmediate(this.#wait);
  }

  readonly #wait = (): void => {
    this.#waits = this.#waits < messagesATurnMax ? this.#waits + 1 : 0;
    const chunk = this.#socket.receiveWaiting();
    if (chunk === undefined) this.#waits = messagesATurnMax;
    this.#receiveAll(chunk);
    const isBusy = this.#listener?.isBusy() === true;
    this.#isRead = isBusy;
    if (!isBusy) this.rest();
  };

  /** Data that comes after a chunk that did not fill the buffer is received the next time. */
  #receiveAll(first: ReturnType<DirectSocket['receive']>): void {
    let chunk = first;
    while (chunk !== undefined && chunk !== 'ended') {
      this.#listener?.receive(chunk);
      chunk = chunk.length < receiveBytesMax ? undefined : this.#socket.receive();
    }
    if (chunk === 'ended') this.#listener?.ended();
  }

  end(onEnded: () => void): void {
    onEnded();
  }
}
