/** The lane without a process or a socket: for programs that embed the server, and for tests. */

import { randomInt } from 'node:crypto';
import {
  type FromWorker,
  HeapRegion,
  IdMap,
  type Lane,
  type Region,
  type ToWorker,
  type WorkerLink,
  type WorkerMessage,
} from '@millrace/protocol';
import { heapBytes } from '@millrace/shared-memory';
import type { Engine } from './engine.ts';
import { processorMsOfProcess } from './host/processor-time.ts';
import { EngineSessions } from './host/sessions.ts';
import { batchesMaxDefault, WorkerHost } from './host/worker-host.ts';

export interface InlineLaneOptions {
  readonly engines: readonly Engine[];
  /** How many batches are held at once, including the running one; default: 2. */
  readonly batchesMax?: number;
}

/** A lane in this process: a batch blocks the process while it runs, but needs no transfer to another one. */
export function createInlineLane(options: InlineLaneOptions): Lane {
  return { name: 'inline', life: 'started', open: (receive) => new InlineLink(options, receive) };
}

class InlineLink implements WorkerLink {
  readonly identity = undefined;
  readonly pid = undefined;
  readonly #host: WorkerHost;
  readonly #receive: (message: FromWorker) => void;
  /** Released when the batch has ended: its inputs, and the answers to its calls. */
  readonly #inFlight = new IdMap<Region[]>();
  #isStopping: boolean = false;
  #isGone: boolean = false;

  constructor({ engines, batchesMax = batchesMaxDefault }: InlineLaneOptions, receive: (message: FromWorker) => void) {
    this.#receive = receive;
    this.#host = new WorkerHost({
      sessions: new EngineSessions(engines),
      batchesMax,
      now: () => performance.now(),
      residentBytes: () => process.memoryUsage.rss(),
      processorMs: processorMsOfProcess,
      sentinelSeed: randomInt(2 ** 32),
      lend: lendHeap,
      send: (message) => {
        this.#deliver(message);
        return undefined;
      },
    });
    this.#host.start();
  }

  lend(bytes: number): Region {
    return lendHeap(bytes);
  }

  send(message: ToWorker): void {
    switch (message.kind) {
      case 'dispatch':
        if (this.#isGone) message.region.release();
        else this.#inFlight.set(message.batch, [message.region]);
        break;
      case 'call-answered': {
        const held = this.#inFlight.get(message.batch);
        if (held === undefined) message.region.release();
        else held.push(message.region);
        break;
      }
    }
    // A stopping worker gets nothing new, but still gets messages about what it has begun.
    if (!this.#isStopping || !isNew(message)) this.#host.receive(message);
  }

  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#host.finish(() => this.#end('the worker was stopped'));
  }

  kill(reason?: string): void {
    this.#isStopping = true;
    this.#host.close();
    queueMicrotask(() => this.#end(`the worker was killed${reason === undefined ? '' : `; ${reason}`}`));
  }

  #deliver(message: WorkerMessage): void {
    if (message.kind === 'answered' || message.kind === 'failed') {
      for (const region of this.#inFlight.get(message.batch) ?? []) region.release();
      this.#inFlight.delete(message.batch);
    }
    this.#receive(message);
  }

  #end(reason: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#host.close();
    for (const regions of this.#inFlight.values()) for (const region of regions) region.release();
    this.#inFlight.clear();
    this.#receive({ kind: 'gone', reason });
  }
}

function isNew({ kind }: ToWorker): boolean {
  return kind === 'load' || kind === 'unload' || kind === 'dispatch';
}

function lendHeap(bytes: number): Region {
  return new HeapRegion(heapBytes(bytes));
}
