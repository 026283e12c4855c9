import type { HeldFolder, RouterRestart } from './messages.ts';

/** What a router gets from its supervisor, and leaves to it. */
export interface Supervision {
  /** Routers that the supervisor has started before this one. */
  readonly restarts: number;
  /** How the one before this ended; undefined for the first. */
  readonly restart: RouterRestart | undefined;
  readonly folder: HeldFolder | undefined;
  /** The descriptor of a listening socket that a router before this one opened; each is given once. */
  takeListener(key: string): number | undefined;
  /**
   * Leaves listening sockets, by their keys, to the supervisor: connections wait in them while a router is replaced.
   * Sockets of earlier routers that have not been taken are closed. Resolves when the supervisor has all of them.
   */
  keepListeners(handles: ReadonlyMap<string, unknown>): Promise<void>;
  /** Resolves when the supervisor has closed its copies, so that closing a socket refuses further connections. */
  releaseListeners(): Promise<void>;
  /** Must be called before an exit that another router must not follow. Calls back when the supervisor knows. */
  announceEnd(onAnnounced: () => void): void;
}
