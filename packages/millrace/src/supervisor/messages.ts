/** What a supervisor and its router tell each other over the channel between the two processes. */

/** A listening socket that outlives routers, by what was configured for it: a router with another configuration opens its own. */
export interface InheritedListener {
  readonly key: string;
  /** Of the router's process. */
  readonly descriptor: number;
}

/** The folder for temporary files that outlives routers. */
export interface HeldFolder {
  readonly path: string;
  /** Its name until a router has locked it; other servers remove folders with the final name that nobody has locked. */
  readonly firstPath: string;
  /** The lock file, open in the supervisor and in its routers: a lock on it is held as long as one of them lives. */
  readonly lockDescriptor: number;
}

/** How the router before this one ended. */
export interface RouterRestart {
  readonly cause: 'killed' | 'crashed';
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** How long the supervisor waited before it started this one. */
  readonly pauseMs: number;
}

/** The first message to a router. */
export interface BeginMessage {
  readonly kind: 'begin';
  readonly folder: HeldFolder | undefined;
  readonly listeners: readonly InheritedListener[];
  /** Routers that this supervisor has started before. */
  readonly restarts: number;
  readonly restart: RouterRestart | undefined;
}

export type ToRouter =
  | BeginMessage
  /** The answer to `listening`, and to `release`. */
  | { readonly kind: 'kept' | 'released' };

export type ToSupervisor =
  /** With the handle of a listening socket that this router opened. */
  | { readonly kind: 'listener'; readonly key: string }
  /** All listening sockets are open: these, and no others, outlive this router. */
  | { readonly kind: 'listening'; readonly keys: readonly string[] }
  /** The router drains: without this, connections would wait in the supervisor's copies of its sockets. */
  | { readonly kind: 'release' }
  /** The next exit is meant: a drain, an error that another router would meet as well, a second signal. */
  | { readonly kind: 'ending' };
