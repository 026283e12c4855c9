/** Streams over WebSocket, a frame a message, as protobuf. */
import { MalformedMessage, type OpenFrame, type StreamClientFrame, type StreamServerFrame } from '@millrace/protocol';
import { errorFromClose } from '../../errors/error-from-answer.ts';
import { MillraceError, unreachable, unreadableAnswer } from '../../errors/millrace-error.ts';
import { decodeServerFrame } from '../../frames/read-server-frame.ts';
import { encodeClientFrame } from '../../frames/write-client-frame.ts';
import type { AttemptContext, LinkListener, LinkTransport, TransportLink } from '../transport.ts';

const subprotocol = 'millrace.v1+proto';

/** What browsers, Node from version 22 on and the package `ws` have in common. */
export interface WebSocketClass {
  new (url: string, protocols: string[], options?: { headers: Record<string, string> }): WebSocketLike;
}

export interface WebSocketLike {
  binaryType: string;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

export class SocketLinks implements LinkTransport {
  readonly #url: string;
  readonly #class: WebSocketClass;
  readonly #takesHeaders: boolean;

  constructor(url: URL, socketClass: WebSocketClass, takesHeaders: boolean) {
    this.#url = `${url.href.replace(/\/$/, '').replace(/^http/, 'ws')}/v1/streams`;
    this.#class = socketClass;
    this.#takesHeaders = takesHeaders;
  }

  connect(open: OpenFrame, { headers }: AttemptContext, listener: LinkListener): TransportLink {
    if (headers.length > 0 && !this.#takesHeaders) {
      throw new TypeError('a WebSocket of a browser cannot send header fields: use connectTransport() for streams');
    }
    const Socket = this.#class;
    const socket = this.#takesHeaders
      ? new Socket(this.#url, [subprotocol], { headers: Object.fromEntries(headers) })
      : new Socket(this.#url, [subprotocol]);
    return new SocketLink(socket, open, listener);
  }

  /** Every connection belongs to a stream, which closes it. */
  close(): void {}
}

class SocketLink implements TransportLink {
  /** Pages cannot send pings. */
  readonly ping = undefined;
  readonly #socket: WebSocketLike;
  #isOpen: boolean = false;
  #isOver: boolean = false;

  constructor(socket: WebSocketLike, open: OpenFrame, listener: LinkListener) {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => {
      this.#isOpen = true;
      this.send(open);
    };
    socket.onmessage = ({ data }: { readonly data: ArrayBuffer }) => {
      if (this.#isOver) return;
      const frame = this.#frameFrom(data, listener);
      if (frame !== undefined) listener.onFrame(frame);
    };
    // `onclose` follows, and says more.
    socket.onerror = () => {};
    socket.onclose = ({ code, reason }: { readonly code: number; readonly reason: string }) => {
      if (this.#isOver) return;
      this.#isOver = true;
      listener.onClose(errorFromClose(code, reason, this.#isOpen));
    };
  }

  send(frame: StreamClientFrame): void {
    if (this.#isOpen && !this.#isOver) this.#socket.send(encodeClientFrame(frame));
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.close(1000);
  }

  #frameFrom(data: ArrayBuffer, listener: LinkListener): StreamServerFrame | undefined {
    try {
      if (!(data instanceof ArrayBuffer)) throw unreadableAnswer('a message is text');
      const frame = decodeServerFrame(new Uint8Array(data));
      if (frame === undefined) listener.onActivity();
      return frame;
    } catch (error) {
      if (!(error instanceof MillraceError || error instanceof MalformedMessage)) throw error;
      this.close();
      listener.onClose(unreachable(error.message, true, error));
      return undefined;
    }
  }
}
