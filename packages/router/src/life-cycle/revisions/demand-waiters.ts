import type { KeeperAction, KeeperEvent, WaiterId } from '@millrace/core';
import { type CancelSignal, InferenceError } from '@millrace/protocol';
import type { PathRedaction } from '../../catalogue/path-redaction.ts';
import type { Clock } from '../../data-plane/clock.ts';
import type { Demand } from '../../data-plane/demand.ts';
import type { ServedModel } from '../../data-plane/served-model.ts';

interface Waiting {
  readonly context: string;
  readonly cameAt: number;
  readonly resolve: () => void;
  readonly reject: (error: InferenceError) => void;
  stopListening: () => void;
}

export interface DemandWaitersParts {
  readonly clock: Clock;
  readonly contextOf: (model: ServedModel) => string | undefined;
  readonly redactPaths: PathRedaction;
  readonly tell: (event: KeeperEvent) => void;
  /** A context was loaded on demand; `waitMs` is how long the first request waited for it. */
  readonly onLoaded: (context: string, waitMs: number) => void;
}

const drainingText = 'this server is shutting down; send the request to another one';

/** Holds requests that wait for a context to be loaded; the keeper decides which continue and which are refused. */
export class DemandWaiters implements Demand {
  readonly #parts: DemandWaitersParts;
  readonly #waiting = new Map<WaiterId, Waiting>();
  #lastWaiter: WaiterId = 0;
  /** Contexts whose load was reported in this turn: a load that many wait for is reported once. */
  readonly #told = new Set<string>();
  #isClosed: boolean = false;

  constructor(parts: DemandWaitersParts) {
    this.#parts = parts;
  }

  bringBack(model: ServedModel, deadlineAt: number, signal: CancelSignal): Promise<void> {
    const { clock, contextOf, tell } = this.#parts;
    if (this.#isClosed) return Promise.reject(new InferenceError('draining', drainingText));
    const context = contextOf(model);
    return new Promise((resolve, reject) => {
      if (context === undefined) {
        reject(new InferenceError('model-not-ready', `${model.key} is no longer served; request another version`));
        return;
      }
      this.#lastWaiter += 1;
      const waiter = this.#lastWaiter;
      const cameAt = clock.now();
      const waiting: Waiting = { context, cameAt, resolve, reject, stopListening: () => {} };
      this.#waiting.set(waiter, waiting);
      tell({ kind: 'demanded', context, waiter, deadlineAt });
      if (!this.#waiting.has(waiter)) return;
      waiting.stopListening = signal.onCancel((reason) => {
        tell({ kind: 'demand-cancelled', waiter });
        this.#take(waiter)?.reject(
          new InferenceError(reason, `the request was ended while it waited for ${context} to be loaded`),
        );
      });
    });
  }

  goOn(waiter: WaiterId): void {
    const waiting = this.#take(waiter);
    if (waiting === undefined) return;
    const { context, cameAt } = waiting;
    if (!this.#told.has(context)) {
      this.#told.add(context);
      queueMicrotask(() => this.#told.clear());
      this.#parts.onLoaded(context, this.#parts.clock.now() - cameAt);
    }
    waiting.resolve();
  }

  refuse({ waiter, code, message, retryAfterMs }: Extract<KeeperAction, { readonly kind: 'refuse' }>): void {
    const options = retryAfterMs === undefined ? undefined : { retryAfterMs };
    this.#take(waiter)?.reject(new InferenceError(code, this.#parts.redactPaths(message), options));
  }

  /** The server stops: nothing is loaded on demand any more. */
  close(): void {
    this.#isClosed = true;
    for (const waiter of [...this.#waiting.keys()]) {
      this.refuse({ kind: 'refuse', waiter, code: 'draining', message: drainingText });
    }
  }

  #take(waiter: WaiterId): Waiting | undefined {
    const waiting = this.#waiting.get(waiter);
    this.#waiting.delete(waiter);
    waiting?.stopListening();
    return waiting;
  }
}
