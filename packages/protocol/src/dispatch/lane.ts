/**
 * The seam between the data plane and whatever runs models. tests/contracts/lane.ts checks every lane for it:
 * - messages arrive in the order they were sent, in each direction;
 * - a worker answers every dispatch exactly once (`answered` or `failed`), or is `gone`: in dispatch order, unless it has
 *   loaded a model whose `concurrency` is given; then as its batches end;
 * - a worker sends `partial-answer` only for a model whose `isDecoupled` is given, in order, at most as many as it was granted,
 *   and none after the batch has ended; `answered` then has no outputs;
 * - shapes are as callers see them, in both directions; only the worker knows the shapes that an engine sees;
 * - answers were written for this batch: memory that an engine did not write fails the batch;
 * - a running batch may `call` other models, and each call is answered at most once; none is after the batch has ended;
 * - `gone` comes once and last, also after `stop`, `kill` and a start that failed; after it `send` does nothing;
 * - `receive` is never called from inside `open`, `send`, `stop` or `kill`.
 */
import type { FromWorker, Region, ToWorker } from './messages.ts';
import type { WorkerIdentity } from './worker-identity.ts';

export interface WorkerLink {
  /** Who the worker is; undefined before its greeting, and where it does not say. */
  readonly identity: WorkerIdentity | undefined;
  /** The worker's process id, if it has a process of its own. */
  readonly pid: number | undefined;
  /** Memory for the inputs of one batch, where the worker can read it. Released with the answer. */
  lend(bytes: number): Region;
  /**
   * Where the worker can read memory of the router: memory for the inputs of one request while they arrive; undefined: there
   * is no room for it. Released when the request has ended.
   */
  lendArriving?(bytes: number): Region | undefined;
  /**
   * The memory of a batch whose inputs lie side by side, in this order, in memory of `lendArriving`; undefined: they do not.
   * They are not overwritten before it is released, with the answer. Inputs of one request may have anything between them.
   */
  joinArrived?(inputs: readonly Uint8Array[]): Region | undefined;
  /** Bytes of memory that `lendArriving` has lent. */
  readonly arrivingBytes?: number;
  /** Queues a message; the messages of one tick are sent together. */
  send(message: ToWorker): void;
  /** Lets the worker finish what this link sent it; then it exits, or the link leaves a worker that is attached. */
  stop(): void;
  /**
   * Kills the worker now, or leaves one that is attached, which may go on with what it runs. The reason given here is part
   * of the reason that `gone` reports.
   */
  kill(reason?: string): void;
}

/**
 * Who starts and ends the workers of a lane. *started*: each `open` starts one, and `gone` means that it has ended.
 * *attached*: workers run on their own and other routers may share them; `open` attaches to one, `gone` means the end of this
 * link, and `pid` is undefined.
 */
export type LaneLife = 'started' | 'attached';

export interface Lane {
  readonly name: 'inline' | 'local' | 'zeromq';
  readonly life: LaneLife;
  open(receive: (message: FromWorker) => void): WorkerLink;
}
