/** How a client speaks to the server: an implementation for each edge. Everything else of the run is the same for all. */
import type { OpenFrame, StreamClientFrame, StreamServerFrame } from '@millrace/protocol';

export interface DialectListener {
  onFrame(frame: StreamServerFrame): void;
  /** Called once, unless `close` was called before. `code`: of the error catalogue; empty: the connection was lost or just ended. */
  onClosed(code: string, message: string): void;
}

export interface DialectLink {
  /** The first one is the open frame that the link was made for. */
  send(frame: StreamClientFrame): void;
  /** Breaks the connection at once. */
  close(): void;
}

export interface StreamDialect {
  readonly name: string;
  /** The client can send one input only, with the opening, and nothing after it. A link ignores an input that is sent again. */
  readonly hasOneInput: boolean;
  /** On a connection of its own to `host:port`. The open frame is sent by this. */
  connect(address: string, open: OpenFrame, listener: DialectListener): DialectLink;
}
