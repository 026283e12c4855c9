/** How a worker hears and speaks with its router: two ways of using one socket. */
import type { Socket } from 'node:net';
import { type DirectSocket, receiveBytesMax } from '@millrace/shared-memory';

export interface WireListener {
  receive(chunk: Uint8Array): void;
  /** The router is gone. */
  ended(): void;
  /** Whether there is work at hand, or under way. */
  isBusy(): boolean;
}

export interface RouterWire {
  /** To be called once, before anything else. */
  open(listener: WireListener): void;
  /** True when the kernel took all of it at once, so that the memory may be used again. */
  write(bytes: Uint8Array): boolean;
  /** The worker is between two jobs: what has arrived meanwhile may be about the next one. */
  listen(): void;
  /** The worker has nothing to do. */
  rest(): void;
  /** Calls back when everything written is on its way. */
  end(onEnded: () => void): void;
}

/** By the event loop: for engines whose work goes on while messages come and go, and where there is no other way. */
export class EventWire implements RouterWire {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  open(listener: WireListener): void {
    this.#socket.on('data', (chunk: Buffer) => listener.receive(chunk));
    this.#socket.on('error', (error) => process.stderr.write(`the socket to the router failed: ${error.message}\n`));
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

/** A sleeping worker looks up so often, for the sake of what else the process may have to do. */
const sleepMsMax = 1000;

/**
 * Past the event loop: a worker that runs one batch after the other reads the socket between two of them, and sleeps on
 * it when there is none. A batch costs it some 30 microseconds less so.
 */
export class AttentiveWire implements RouterWire {
  readonly #socket: DirectSocket;
  #listener: WireListener | undefined;

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
    this.#receiveAll();
  }

  /** Only a turn in which nothing came ends in sleep: what was just said in answer is written first. */
  rest(): void {
    setImmediate(() => {
      if (!this.#receiveAll()) {
        this.#socket.sleep(sleepMsMax);
        this.#receiveAll();
      }
      if (this.#listener?.isBusy() === false) this.rest();
    });
  }

  /** Whether there was anything. What comes after a chunk that filled less than it could is heard the next time. */
  #receiveAll(): boolean {
    let chunk = this.#socket.receive();
    const hasReceived = chunk !== undefined;
    while (chunk !== undefined && chunk !== 'ended') {
      this.#listener?.receive(chunk);
      chunk = chunk.length < receiveBytesMax ? undefined : this.#socket.receive();
    }
    if (chunk === 'ended') this.#listener?.ended();
    return hasReceived;
  }

  end(onEnded: () => void): void {
    onEnded();
  }
}
