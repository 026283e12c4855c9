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

export interface WorkerLink {
  /** The worker's process id, if it has a process of its own. */
  readonly pid: number | undefined;
  /** Memory for the inputs of one batch, where the worker can read it. Released with the answer. */
  lend(bytes: number): Region;
  /** Queues a message; the messages of one tick are sent together. */
  send(message: ToWorker): void;
  /** Lets the worker finish what it holds and exit. */
  stop(): void;
  /** Kills the worker now. The reason given here is part of the reason that `gone` reports. */
  kill(reason?: string): void;
}

export interface Lane {
  readonly name: 'inline' | 'local' | 'zeromq';
  open(receive: (message: FromWorker) => void): WorkerLink;
}
