import type { Socket } from 'node:net';
import { MalformedFrame } from '@millrace/protocol';
import type { RouterWire, WireListener } from '../host/router-wire.ts';

export interface LinkWireOptions {
  readonly socket: Socket;
  /** A router that leaves more than this unread is cut off: its answers would fill the memory of the worker. */
  readonly unsentBytesMax: number;
  /** The link was cut from this side, for this reason. */
  readonly onCut: (reason: string) => void;
}

/** The socket of one of several routers: whatever it does, the others are not affected. */
export class LinkWire implements RouterWire {
  readonly #options: LinkWireOptions;
  #isCut: boolean = false;

  constructor(options: LinkWireOptions) {
    this.#options = options;
  }

  open(listener: WireListener): void {
    const { socket } = this.#options;
    socket.on('data', (chunk: Buffer) => this.#receive(listener, chunk));
    // The close event follows and is handled.
    socket.on('error', () => {});
    socket.on('close', () => listener.ended());
  }

  write(bytes: Uint8Array): boolean {
    const { socket, unsentBytesMax } = this.#options;
    if (socket.destroyed) return false;
    const unsent = socket.writableLength;
    if (unsent > unsentBytesMax) {
      this.cut(`the router does not read its answers: ${unsent} bytes are unsent, at most ${unsentBytesMax} may be`);
      return false;
    }
    socket.write(bytes);
    return socket.writableLength === 0;
  }

  listen(): void {}

  rest(): void {}

  end(onEnded: () => void): void {
    const { socket } = this.#options;
    socket.end(() => {
      socket.destroy();
      onEnded();
    });
  }

  cut(reason: string): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#options.onCut(reason);
    this.#options.socket.destroy();
  }

  #receive(listener: WireListener, chunk: Uint8Array): void {
    if (this.#isCut) return;
    try {
      listener.receive(chunk);
    } catch (error) {
      // Any other error is a defect of this process.
      if (!(error instanceof MalformedFrame)) throw error;
      this.cut(`the router broke the protocol: ${error.message}`);
    }
  }
}
