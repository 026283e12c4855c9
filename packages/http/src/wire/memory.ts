/**
 * Memory that requests hold, as the wire sees it. Who gets how much is decided elsewhere: here bytes are counted when they
 * arrive, and a request that has to wait is not read from.
 */

/**
 * `granted`: go on. `waiting`: what was counted stays, but nothing more is taken before `onMemory`. `refused`: too much
 * came while it had to wait.
 */
export type MemoryVerdict = 'granted' | 'waiting' | 'refused';

/** Hears that a lease that had to wait may go on. */
export interface MemoryHolder {
  onMemory(): void;
}

/** What one request holds. */
export interface MemoryLease {
  readonly heldBytes: number;
  /** So much more is held. */
  hold(bytes: number): MemoryVerdict;
  /** As `hold`, for what is held in any case. */
  count(bytes: number): void;
  /** Whether so much more could be held without waiting. */
  hasRoomFor(bytes: number): boolean;
  give(bytes: number): void;
  /** All that was awaited has arrived. */
  complete(): void;
  /** From now on so much is held, whatever it was before: an answer instead of a request. */
  keep(bytes: number): void;
  /** Gives back all of it. */
  end(): void;
}

/** What the requests of one connection share. */
export interface ConnectionMemory {
  lease(holder: MemoryHolder): MemoryLease;
  /** The connection is gone. */
  close(): void;
}

export interface ServerMemory {
  /** The owner is whose requests they are: the caller, or the address it comes from. */
  connection(owner: string): ConnectionMemory;
  /** For one request of an owner that comes through the connection of a gateway. It is not closed. */
  guest(owner: string): ConnectionMemory;
}

const unlimitedLease: MemoryLease = {
  heldBytes: 0,
  hold: () => 'granted',
  count: () => {},
  hasRoomFor: () => true,
  give: () => {},
  complete: () => {},
  keep: () => {},
  end: () => {},
};

const unlimitedConnection: ConnectionMemory = { lease: () => unlimitedLease, close: () => {} };

/** For servers that are given no memory of their own: everything is granted. */
export const unlimitedMemory: ServerMemory = {
  connection: () => unlimitedConnection,
  guest: () => unlimitedConnection,
};
