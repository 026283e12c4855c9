/** A WebSocket connection (RFC 6455) as an application sees it. */
import type { Peer } from '../exchange.ts';

/** What an application attaches to a connection. Calls come one at a time. */
export interface WebSocketHandler {
  /**
   * A whole message; that of a text is valid UTF-8. The view stays valid. Its memory is counted until the call returns:
   * an application that keeps the message calls `hold` for it.
   */
  onMessage(data: Uint8Array, isBinary: boolean): void;
  /** The client has read enough: there is room again after a `send` that returned false. */
  onDrain(): void;
  /**
   * The connection is about to be closed with 1001 because the server shuts down, or because of its age. What is sent
   * in this call still arrives.
   */
  onGoingAway?(): void;
  /**
   * The last call. The code of the client's close frame (1005 if it had none), 1006 if the connection was lost without
   * one, or the code with which the server ended it because of a fault or a limit.
   */
  onClose(code: number, reason: string): void;
}

export interface WebSocketConnection {
  /** What was chosen of the subprotocols that the server supports. */
  readonly subprotocol: string;
  readonly peer: Peer;
  /**
   * Set while there is work for the client, such as an open stream. A connection without it is closed after `idleMsMax`
   * without a message, and may be closed for a new connection where there are too many.
   */
  isBusy: boolean;
  /** Bytes of messages sent that the kernel has not taken yet. */
  readonly unsentBytes: number;
  /**
   * Sends a message, text for a string. False means: wait for `onDrain`, or that the connection is closing. Bytes belong
   * to the connection from now on and must not be changed.
   */
  send(data: Uint8Array | string): boolean;
  /** The same for a text that is UTF-8 already. */
  sendText(utf8: Uint8Array): boolean;
  /** Delivers no more messages until `resume`. Little more is read, so that the client has to wait. */
  pause(): void;
  resume(): void;
  /** Counts bytes that the application keeps for the client; beyond its share nothing more is read from it. */
  hold(bytes: number): void;
  give(bytes: number): void;
  /** Begins the closing handshake, once; nothing can be sent after it, and messages that arrive are discarded. */
  close(code?: number, reason?: string): void;
}

/** Called when a connection is open; messages arrive after it has returned. */
export type OnWebSocket = (connection: WebSocketConnection) => WebSocketHandler;
