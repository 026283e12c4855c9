/** The seam between the command line and the composition root: what `serve` needs from a server that listens. */

import type { TensorSpec } from '@millrace/protocol';
import type { ModelStatus } from '@millrace/router';
import type { Config } from './config/fields.ts';
import type { Logger } from './logging/logger.ts';

/** The state of one version of a model. */
export interface ServedModelStatus extends ModelStatus {
  /** Undefined until it has been loaded. */
  readonly loadMs: number | undefined;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** A part of the server that the network can reach without authentication. */
export interface ExposureNotice {
  readonly message: string;
  readonly host: string;
  /** What to do about it. */
  readonly advice: string;
}

export interface RunningServer {
  /** The address that the ports are bound to, which the URLs replace by loopback where it means all addresses. */
  readonly host: string;
  /** In the form of `serverUrl`. */
  readonly httpUrl: string;
  /** The same API on the port of gRPC. */
  readonly grpcUrl: string;
  /** With its path. */
  readonly metricsUrl: string;
  /** Where management has a port or socket of its own; undefined: on the other two, or nowhere. */
  readonly managementUrl: string | undefined;
  /** Warnings about parts that the network can reach. */
  readonly notices: readonly ExposureNotice[];
  /** Every model version found, loading ones included. */
  models(): readonly ServedModelStatus[];
  /** Calls the listener after any model changed its state. Returns a function that removes it. */
  onModelChange(listener: () => void): () => void;
  /**
   * Reads the certificates again, for connections that are made from now on. Throws a `ConfigError`, and keeps those in
   * use, where the files cannot be used.
   */
  replaceCertificates(tls: Config['tls']): void;
  /** From now on the server reports that it is not ready, and keeps serving. */
  stopBeingReady(): void;
  /** Accepts nothing new and resolves when everything in progress has been answered. */
  drain(): Promise<void>;
  /** Closes everything at once, workers included. May be called at any time, and more than once. */
  close(): Promise<void>;
}

/**
 * Resolves as soon as the server listens; models are loaded in the background. When it rejects, everything it opened is
 * closed. Later failures are logged here; `serve` reports models that become ready.
 */
export type StartServer = (config: Config, logger: Logger) => Promise<RunningServer>;
