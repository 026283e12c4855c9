/** The lane without a process or a socket: for programs that embed the server, and for tests. */
import {
  type DispatchMessage,
  type FromWorker,
  HeapRegion,
  type Lane,
  type Region,
  type ToWorker,
  type WorkerLink,
  type WorkerMessage,
} from '@millrace/protocol';
import { heapBytes } from '@millrace/shared-memory';
import type { Engine } from './engine.ts';
import { batchesMaxDefault, WorkerHost } from './host/worker-host.ts';

export interface InlineLaneOptions {
  readonly engines: readonly Engine[];
  /** How many batches are held at once, the running one included; 2 unless given. */
  readonly batchesMax?: number;
}

/** A batch blocks this process for as long as it runs: that is the price of having no hop. */
export function createInlineLane(options: InlineLaneOptions): Lane {
  return { name: 'inline', open: (receive) => new InlineLink(options, receive) };
}

class InlineLink implements WorkerLink {
  readonly pid = undefined;
  readonly #host: WorkerHost;
  readonly #receive: (message: FromWorker) => void;
  readonly #inFlight: DispatchMessage[] = [];
  #isStopping: boolean = false;
  #isGone: boolean = false;

  constructor({ engines, batchesMax = batchesMaxDefault }: InlineLaneOptions, receive: (message: FromWorker) => void) {
    this.#receive = receive;
    this.#host = new WorkerHost({
      engines,
      batchesMax,
      now: () => performance.now(),
      residentBytes: () => process.memoryUsage.rss(),
      lend: lendHeap,
      send: (message) => this.#deliver(message),
    });
    this.#host.start();
  }

  lend(bytes: number): Region {
    return lendHeap(bytes);
  }

  send(message: ToWorker): void {
    if (message.kind === 'dispatch') {
      if (this.#isGone) message.region.release();
      else this.#inFlight.push(message);
    }
    if (!this.#isStopping) this.#host.receive(message);
  }

  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#host.finish(() => this.#end('the worker was stopped'));
  }

  kill(): void {
    this.#isStopping = true;
    this.#host.close();
    queueMicrotask(() => this.#end('the worker was killed'));
  }

  #deliver(message: WorkerMessage): void {
    if (message.kind === 'answered' || message.kind === 'failed') this.#inFlight.shift()?.region.release();
    this.#receive(message);
  }

  #end(reason: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#host.close();
    for (const { region } of this.#inFlight.splice(0)) region.release();
    this.#receive({ kind: 'gone', reason });
  }
}

function lendHeap(bytes: number): Region {
  return new HeapRegion(heapBytes(bytes));
}
