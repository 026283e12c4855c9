/**
 * Memory that requests hold, as the wire layer sees it. Who gets how much is decided elsewhere: here bytes are counted
 * when they arrive, and a request that has to wait is not read from.
 */

/**
 * `granted`: continue. `waiting`: what was counted stays, but nothing more is taken before `onMemory`. `refused`: too
 * much arrived while it had to wait.
 */
export type MemoryVerdict = 'granted' | 'waiting' | 'refused';

/** Told that a lease that had to wait may continue. */
export interface MemoryHolder {
  onMemory(): void;
}

/** What one request holds. */
export interface MemoryLease {
  readonly heldBytes: number;
  /** Holds this many bytes more. */
  hold(bytes: number): MemoryVerdict;
  /** As `hold`, for bytes that are held in any case. */
  count(bytes: number): void;
  /** Whether this many bytes more could be held without waiting. */
  hasRoomFor(bytes: number): boolean;
  give(bytes: number): void;
  /** Everything awaited has arrived. */
  complete(): void;
  /** Sets the bytes held to this number, whatever it was before: an answer instead of a request. */
  keep(bytes: number): void;
  /** Releases all of it. */
  end(): void;
}

/** What the requests of one connection share. */
export interface ConnectionMemory {
  lease(holder: MemoryHolder): MemoryLease;
  /** The connection was closed. */
  close(): void;
}

export interface ServerMemory {
  /** The owner is whose requests they are: the caller, or the address it comes from. */
  connection(owner: string): ConnectionMemory;
  /** For one request of an owner that comes through a gateway's connection. It is not closed. */
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

/** For servers without a memory limit: everything is granted. */
export const unlimitedMemory: ServerMemory = {
  connection: () => unlimitedConnection,
  guest: () => unlimitedConnection,
};
