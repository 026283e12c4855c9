/** The lane to worker processes on this host: messages over a Unix socket, tensors in memory both sides map. */
import type { spawn } from 'node:child_process';
import type { Lane } from '@millrace/protocol';
import { MappingPool } from '@millrace/shared-memory';
import { LocalLink } from './local-link.ts';

export interface LocalLaneOptions {
  /** The program of the worker: what `@millrace/worker/main` resolves to, or any that speaks docs/reference/dispatch.md. */
  readonly workerPath: string;
  /** What runs the program, which is its only argument: the Node of this process unless given, otherwise any interpreter. */
  readonly execPath?: string;
  /** Starts the processes; Node's own unless given. */
  readonly spawn?: typeof spawn;
  /** The worker's environment, all of it: nothing is inherited. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Shared memory of one worker, half of it each way; 0 for none. Pages cost nothing until they are used, and a message
   * that finds no room in it is copied through the socket instead.
   */
  readonly sharedMemoryBytesMax: number;
  /** The longest message either way, tensors included that are not in shared memory; 1 GiB unless given. */
  readonly messageBytesMax?: number;
  /** Told why, for each worker that works without shared memory although some was asked for. */
  readonly onSharedMemoryUnavailable?: (reason: string) => void;
}

/** Each `open` starts a process of its own. */
export function createLocalLane(options: LocalLaneOptions): Lane {
  const memories = new MappingPool();
  return { name: 'local', open: (receive) => new LocalLink(options, memories, receive) };
}
