/** The seam between the command line and the composition root: what `serve` needs of a server that has begun to listen. */

import type { TensorSpec } from '@millrace/protocol';
import type { ModelStatus } from '@millrace/router';
import type { Config } from './config/fields.ts';
import type { Logger } from './logging/logger.ts';

/** One version of a model, as far as it is known by now. */
export interface ServedModelStatus extends ModelStatus {
  /** Undefined until it has been loaded. */
  readonly loadMs: number | undefined;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** Something of the server that the network can reach although nobody has to say who he is. */
export interface ExposureNotice {
  readonly message: string;
  readonly host: string;
  /** What to do about it. */
  readonly advice: string;
}

export interface RunningServer {
  /** As a person would paste it: see `serverUrl`. */
  readonly httpUrl: string;
  /** The same API where gRPC clients look for it. */
  readonly grpcUrl: string;
  /** With its path. */
  readonly metricsUrl: string;
  /** Where management has a port or socket of its own; undefined: at the other two, or nowhere. */
  readonly managementUrl: string | undefined;
  /** Who can reach it that an operator may not expect. */
  readonly notices: readonly ExposureNotice[];
  /** Every model version found, loading ones included. */
  models(): readonly ServedModelStatus[];
  /** Calls back after any model changed its state. Returns the way to stop. */
  onModelChange(listener: () => void): () => void;
  /** From now on the server says it is not ready, and goes on serving. */
  stopBeingReady(): void;
  /** Takes nothing new and resolves when everything in progress has been answered. */
  drain(): Promise<void>;
  /** Closes everything at once, workers included. May be called at any time, and more than once. */
  close(): Promise<void>;
}

/**
 * Resolves as soon as it listens; models load meanwhile. When it rejects it has closed what it had opened. It logs
 * what goes wrong later on; that models become ready is told by `serve`.
 */
export type StartServer = (config: Config, logger: Logger) => Promise<RunningServer>;
