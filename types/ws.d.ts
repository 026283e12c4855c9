/**
 * The parts of `ws` that are used here: its frame reader and writer, and its client in tests. The published types leave
 * the first two out.
 */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import { Writable } from 'node:stream';

  export interface ReceiverOptions {
    readonly isServer: boolean;
    readonly maxPayload: number;
    readonly maxFragments: number;
  }

  /** Emits `message`, `ping`, `pong` and `conclude` while bytes are written; `errored` is set in the same call. */
  export class Receiver extends Writable {
    constructor(options: ReceiverOptions);
  }

  export interface FrameOptions {
    readonly fin: boolean;
    readonly opcode: number;
  }

  export const Sender: {
    /** The head of the frame, and the payload if there is any. */
    frame(payload: Uint8Array, options: FrameOptions): Uint8Array[];
  };

  export interface ClientOptions {
    readonly ca?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }

  export class WebSocket extends EventEmitter {
    constructor(url: string, protocols: readonly string[], options?: ClientOptions);
    readonly protocol: string;
    send(data: Uint8Array | string): void;
    ping(): void;
    close(code?: number, reason?: string): void;
    /** Reads nothing from its socket until `resume`. */
    pause(): void;
    resume(): void;
    terminate(): void;
  }
}
