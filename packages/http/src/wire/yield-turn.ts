import type { Transport } from './transport.ts';

/** A connection that may have its transport paused for other reasons as well. */
export interface YieldingConnection {
  readonly transport: Transport;
  readonly isClosed: boolean;
  isYielding: boolean;
  /** Whether it stays paused after its turn. */
  readonly isInputHeld: boolean;
}

/** Frames, or pieces of a body, in one chunk from the socket; a chunk with more is split over turns. */
export const piecesPerTurn = 512;

/**
 * A socket with much to read delivers it in one turn of the event loop: expensive chunks continue in the next turn,
 * after the other connections.
 */
export function yieldTurn(connection: YieldingConnection): void {
  if (connection.isYielding || connection.isClosed) return;
  connection.isYielding = true;
  connection.transport.pause();
  setImmediate(() => {
    connection.isYielding = false;
    if (!connection.isInputHeld && !connection.isClosed) connection.transport.resume();
  });
}
