/** The lane to worker processes on this host: messages over a Unix socket, tensors in shared memory. */
import type { Lane } from '@millrace/protocol';
import { MappingPool } from '@millrace/shared-memory';
import { LocalLink } from './local-link.ts';
import { type StartedWorkersOptions, startedWorkers } from './started-workers.ts';

export interface LocalLaneOptions extends StartedWorkersOptions {
  /**
   * Shared memory of one worker, half of it for each direction; 0 for none. Pages take no memory until they are used, and a
   * message that finds no room in it is copied through the socket instead.
   */
  readonly sharedMemoryBytesMax: number;
  /** Memory that requests arrive in is overwritten when it is free: for tests. */
  readonly isMemoryPoisoned?: boolean;
  /** The longest message in either direction, including tensors that are not in shared memory; default: 1 GiB. */
  readonly messageBytesMax?: number;
  /** Called with the reason for each worker that runs without shared memory although it was configured. */
  readonly onSharedMemoryUnavailable?: (reason: string) => void;
}

/** A lane of which each `open` starts a process. */
export function createLocalLane(options: LocalLaneOptions): Lane {
  const memories = new MappingPool();
  const source = startedWorkers(options);
  return { name: 'local', life: source.life, open: (receive) => new LocalLink(source, options, memories, receive) };
}
