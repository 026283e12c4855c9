/** The lane to worker processes on this host: messages over a Unix socket, tensors in shared memory. */
import type { spawn } from 'node:child_process';
import type { Lane } from '@millrace/protocol';
import { MappingPool } from '@millrace/shared-memory';
import { LocalLink } from './local-link.ts';
import type { WorkerLine } from './worker-output.ts';

export interface LocalLaneOptions {
  /** The program of the worker: what `@millrace/worker/main` resolves to, or any that speaks docs/reference/dispatch.md. */
  readonly workerPath: string;
  /** The interpreter that runs the program, which is its only argument; default: the Node of this process. */
  readonly execPath?: string;
  /** Starts the processes; default: Node's own. */
  readonly spawn?: typeof spawn;
  /** The worker's environment, all of it: nothing is inherited. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Shared memory of one worker, half of it for each direction; 0 for none. Pages take no memory until they are used, and a
   * message that finds no room in it is copied through the socket instead.
   */
  readonly sharedMemoryBytesMax: number;
  /** The longest message in either direction, including tensors that are not in shared memory; default: 1 GiB. */
  readonly messageBytesMax?: number;
  /** Called with what a worker prints, within the limits of worker-output.ts; if left out, stdout is ignored. */
  readonly onWorkerLine?: ((pid: number, line: WorkerLine) => void) | undefined;
  /** Called with the reason for each worker that runs without shared memory although it was configured. */
  readonly onSharedMemoryUnavailable?: (reason: string) => void;
}

/** A lane of which each `open` starts a process. */
export function createLocalLane(options: LocalLaneOptions): Lane {
  const memories = new MappingPool();
  return { name: 'local', open: (receive) => new LocalLink(options, memories, receive) };
}
