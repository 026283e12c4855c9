import type { Transport } from './transport.ts';

/** A connection that may have its transport paused for reasons of its own. */
export interface YieldingConnection {
  readonly transport: Transport;
  readonly isClosed: boolean;
  isYielding: boolean;
  /** Whether it stays paused after its turn. */
  readonly isInputHeld: boolean;
}

/** Frames, or pieces of a body, in one chunk from the socket; more are laborious. */
export const piecesPerTurn = 512;

/**
 * A socket that has much to read gives it out in one turn of the event loop: what is laborious goes on in the next one,
 * after the others.
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
