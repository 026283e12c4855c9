/**
 * Requests on their way to the scheduler: the name is resolved, a request waits while its version is not in memory, then
 * goes to the scheduler. What the router does before its queues, with the real registry.
 */
import type { ArrivedRequest, RequestId, WaiterId } from '@millrace/core';
import { type ErrorCode, InferenceError } from '@millrace/protocol';
import type { ServedModel, ServedModels, TrafficCatalogue } from '@millrace/router/catalogue';
import type { CallReferee } from './call-referee.ts';
import type { Library } from './library.ts';
import type { Router } from './router.ts';
import type { WaiterAnswer } from './simulated-loader.ts';
import type { SimulatedWorld } from './simulated-worker.ts';

/** As in the router: a request that finds its version unloaded this often is refused. */
const attemptsMax = 4;

/** What a caller asks for: `model`, `model:version` or `model@label`. */
export interface SimulatedCall extends Omit<ArrivedRequest, 'model'> {
  readonly address: string;
}

interface OpenCall {
  readonly call: SimulatedCall;
  attempts: number;
  waiter: WaiterId | undefined;
}

export interface FrontParts {
  readonly world: SimulatedWorld;
  readonly router: Router;
  readonly library: Library;
  readonly models: ServedModels;
  readonly catalogue: Pick<TrafficCatalogue, 'isResolvable' | 'resolve'>;
  readonly referee: CallReferee;
}

export class Front {
  readonly #parts: FrontParts;
  readonly #open = new Map<RequestId, OpenCall>();
  readonly #waiting = new Map<WaiterId, OpenCall>();
  #waiterCount = 0;

  constructor(parts: FrontParts) {
    this.#parts = parts;
  }

  ask(call: SimulatedCall): void {
    this.#parts.referee.begun(call);
    const open: OpenCall = { call, attempts: 0, waiter: undefined };
    this.#open.set(call.request, open);
    this.#infer(open);
  }

  cancel(request: RequestId, reason: 'cancelled' | 'deadline-exceeded'): void {
    const open = this.#open.get(request);
    if (open?.waiter !== undefined) {
      this.#waiting.delete(open.waiter);
      this.#parts.library.cancelDemand(open.waiter);
      this.#end(open, reason);
    } else this.#parts.router.tell({ kind: 'request-cancelled', request, reason });
  }

  /** The scheduler has answered or refused. */
  ended(request: RequestId, code: ErrorCode | undefined): void {
    const open = this.#open.get(request);
    if (open !== undefined) this.#end(open, code);
  }

  /** The keeper lets a request go on, or refuses it. */
  answerWaiter(action: WaiterAnswer): void {
    const open = this.#waiting.get(action.waiter);
    if (open === undefined) return;
    this.#waiting.delete(action.waiter);
    open.waiter = undefined;
    if (action.kind === 'refuse') this.#end(open, action.code);
    // As in the router: a request that may continue resolves its name again a moment later.
    else this.#parts.world.timeline.after(0, () => this.#infer(open));
  }

  #infer(open: OpenCall): void {
    const { models, referee, router, world } = this.#parts;
    const { address, request } = open.call;
    if (!this.#open.has(request)) return;
    let served: ServedModel | undefined;
    let known: ServedModel;
    try {
      const { model, version } = this.#resolved(address);
      served = models.takeServed(model, version);
      known = served ?? models.mustKnow(model, version);
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
      router.count(`registry: ${error.code}`);
      referee.claimUnavailable(address, error.code);
      this.#end(open, error.code);
      return;
    }
    referee.claimMeant(address, known);
    if (served === undefined) {
      this.#bringBack(open, known);
      return;
    }
    referee.sent(request, served);
    served.usedAt = world.timeline.nowMs;
    const { address: _, ...arrived } = open.call;
    router.tell({ kind: 'request-arrived', request: { ...arrived, model: served.key } });
  }

  #resolved(address: string): { readonly model: string; readonly version: string } {
    const { catalogue, world } = this.#parts;
    if (!catalogue.isResolvable(address)) return { model: address, version: '' };
    return catalogue.resolve(address, '', () => world.random.next());
  }

  #bringBack(open: OpenCall, model: ServedModel): void {
    const { library } = this.#parts;
    const context = library.contextOf(model);
    if (context === undefined || open.attempts >= attemptsMax) {
      this.#end(open, 'model-not-ready');
      return;
    }
    open.attempts += 1;
    this.#waiterCount += 1;
    open.waiter = this.#waiterCount;
    this.#waiting.set(open.waiter, open);
    library.demand(context, open.waiter, open.call.deadlineAt);
  }

  #end(open: OpenCall, code: ErrorCode | undefined): void {
    this.#open.delete(open.call.request);
    this.#parts.referee.ended(open.call.request, code);
  }
}
