/**
 * The seam between the data plane and whatever runs models. tests/contracts/lane.ts holds every lane to it:
 * - messages arrive in the order they were sent, each way;
 * - a worker answers every dispatch exactly once (`answered` or `failed`), or is `gone`: in dispatch order, unless it has
 *   loaded a model whose `concurrency` is given; then as its batches end;
 * - a worker sends `partial-answer` only for a model whose `isDecoupled` is given, in order, at most as many as it was granted,
 *   and none after the batch has ended; `answered` then has no outputs;
 * - shapes are as callers see them, both ways; the worker alone knows the shapes that an engine sees;
 * - what is answered was written for this batch: memory that an engine left as it was fails the batch;
 * - a batch that runs may `call` other models, and each call is answered at most once; none is after the batch has ended;
 * - `gone` comes once and last, also after `stop`, `kill` and a start that failed; after it `send` does nothing;
 * - `receive` is never called from inside `open`, `send`, `stop` or `kill`.
 */
import type { FromWorker, Region, ToWorker } from './messages.ts';

export interface WorkerLink {
  /** The worker's process id where it has one of its own. */
  readonly pid: number | undefined;
  /** Memory for the inputs of one batch, laid where the worker will read it. Goes back with the answer. */
  lend(bytes: number): Region;
  /** Queues a message; the messages of one tick travel together. */
  send(message: ToWorker): void;
  /** Lets the worker finish what it holds and end. */
  stop(): void;
  /** Ends the worker now. What it is killed for is part of the reason that `gone` gives. */
  kill(reason?: string): void;
}

export interface Lane {
  readonly name: 'inline' | 'local' | 'zeromq';
  open(receive: (message: FromWorker) => void): WorkerLink;
}
