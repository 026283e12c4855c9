/**
 * Where the workers of a lane come from: started here (local-lane/started-workers.ts) or running on their own
 * (attached-lane/attached-workers.ts). A link (`WorkerLink`) talks to a worker by the channel that a source opens, and the fleet
 * decides what it loads; neither has to know where it comes from.
 */
import type { LaneLife, WorkerEnd } from '@millrace/protocol';

export interface WorkerSource {
  readonly life: LaneLife;
  /** A channel to a worker. The listener is never called from inside. */
  open(listener: ChannelListener): WorkerChannel;
}

export interface ChannelListener {
  /** A descriptor for the worker to inherit, of memory to share; undefined: none. Only a worker that is started here can inherit. */
  readonly memoryDescriptor: number | undefined;
  onData(chunk: Uint8Array): void;
  /**
   * Called once and last, when everything that the worker sent has been read; also when there is no worker to be reached.
   * `end` is undefined where it cannot be told.
   */
  onEnd(reason: string, end?: WorkerEnd): void;
}

/** Bytes to a worker and back. */
export interface WorkerChannel {
  /** The process of the worker, if it was started here. */
  readonly pid: number | undefined;
  /** True when the kernel took all bytes at once, so that the memory may be reused. */
  write(bytes: Uint8Array): boolean;
  /** Ends it now: by killing a worker that was started here, and by leaving one that was not. */
  kill(): void;
}
