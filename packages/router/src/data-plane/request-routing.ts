/**
 * Routes a request whose name is resolved: finds its version, or waits until it is loaded; checks its tensors; then hands it to the
 * model's runner or its queue.
 */
import { InferenceError, quote } from '@millrace/protocol';
import type { Clock } from './clock.ts';
import { collectingWaiter } from './collected-text.ts';
import { afterWaiting, bringBackAttemptsMax, type Demand } from './demand.ts';
import type { HeldByRunners } from './held-by-runners.ts';
import type { InferRequest, PinnedModel, Runner } from './infer.ts';
import type { KnownModels } from './known-models.ts';
import type { ModelObservers } from './model-observers.ts';
import type { DataPlaneObserver } from './observer.ts';
import type { RetiringModels } from './retiring-models.ts';
import type { SchedulerLoop } from './scheduler-loop.ts';
import type { ServedModel } from './served-model.ts';
import type { SlicedWork } from './sliced-work/sliced-work.ts';
import { hasLongTexts, longTextSlices, ValidInferRequest } from './valid-request.ts';
import { Waiter } from './waiter.ts';

export interface RequestRoutingParts {
  readonly models: KnownModels;
  readonly demand: Demand;
  readonly loop: SchedulerLoop;
  /** The same as a runner, which splits requests with more rows than a batch may have. */
  readonly queue: Runner;
  readonly retiring: RetiringModels;
  readonly heldByRunners: HeldByRunners;
  readonly observer: DataPlaneObserver;
  readonly observers: ModelObservers;
  readonly clock: Clock;
  readonly sliced: SlicedWork;
}

/** How far the routing of a request has come. */
export interface Progress {
  /** A part of a request that was accepted before: answered also while the server drains. */
  readonly isPart: boolean;
  /** How often its version was loaded for it. */
  readonly attempts: number;
  /** The model that its long texts were checked for. */
  readonly checkedFor: ServedModel | undefined;
}

export const arrived: Progress = { isPart: false, attempts: 0, checkedFor: undefined };
export const arrivedPart: Progress = { isPart: true, attempts: 0, checkedFor: undefined };

export class RequestRouting {
  readonly #parts: RequestRoutingParts;
  #isDraining: boolean = false;

  constructor(parts: RequestRoutingParts) {
    this.#parts = parts;
  }

  /** Refuses new requests. Undefined when runners hold none; otherwise resolves when they hold none any more. Parts are still answered. */
  drain(): Promise<void> | undefined {
    this.#isDraining = true;
    const { heldByRunners } = this.#parts;
    return heldByRunners.isEmpty ? undefined : heldByRunners.idle();
  }

  begin(request: InferRequest, waiter: Waiter, progress: Progress): void {
    const { models, retiring, loop, queue, heldByRunners, observers, observer } = this.#parts;
    const { target } = request;
    let model = retiring.takeHolder(request) ?? models.takeServed(target.model, target.version);
    let isServed = model !== undefined;
    let valid: ValidInferRequest;
    try {
      if (target.pinnedTo !== undefined && target.pinnedTo !== model) {
        model = this.#mustStillKnow(target.pinnedTo, target);
        isServed = false;
      }
      model ??= models.mustKnow(target.model, target.version);
      const isChecked = progress.checkedFor === model;
      if (!isChecked && hasLongTexts(request)) {
        this.#checkTexts(request, model, waiter, progress);
        return;
      }
      valid = ValidInferRequest.from(request, model, isChecked);
    } catch (error) {
      if (error instanceof InferenceError) {
        if (model === undefined) observer.requestRefused(error.code);
        else observers.of(model).requestRefused(error.code);
      }
      waiter.reject(error as InferenceError);
      return;
    }
    if (model.view.isDecoupled === true && waiter.flow === undefined) {
      if (model.view.isGenerator === true) {
        this.#collect(request, waiter, { ...progress, checkedFor: model });
        return;
      }
      observers.of(model).requestRefused('unsupported');
      waiter.reject(manyAnswersRefusal(model));
      return;
    }
    // A concurrent model calls other models while it runs: its calls come as further requests, like the parts of a runner.
    const runner = model.runner ?? (model.policy.isConcurrent || valid.isSplit ? queue : undefined);
    if (!isServed) void this.#bringBack(request, model, waiter, progress);
    // The scheduler takes requests until no runner holds any, because runners submit parts to it.
    else if (this.#isDraining && !progress.isPart) {
      observers.of(model).requestRefused('draining');
      waiter.reject(new InferenceError('draining', 'the server is shutting down; send the request to another server'));
    } else if (runner === undefined) loop.submit(valid, waiter.withoutFlow());
    else if (waiter.flow !== undefined && model.view.isDecoupled === true) {
      heldByRunners.run(decoupled(loop, waiter), valid, waiter.signal).then(waiter.resolve, waiter.reject);
    } else heldByRunners.run(runner, valid, waiter.signal).then(waiter.resolve, waiter.reject);
  }

  /** A text of which nothing was sent is begun again when its worker dies; of the second death it may be the cause. */
  #collect(request: InferRequest, waiter: Waiter, progress: Progress, isAgain = false): void {
    const begunAgain = (error: InferenceError, answers: number): boolean => {
      if (isAgain || error.code !== 'worker-lost') return false;
      const target = { ...request.target, answersCounted: answers };
      this.#collect({ ...request, target }, waiter, progress, true);
      return true;
    };
    this.begin(request, collectingWaiter(waiter, begunAgain), progress);
  }

  /**
   * Runs a request whose revision was unloaded before it ran by the revision that has replaced it. False: there is none, it takes
   * other inputs, or one of them keeps state for its requests.
   */
  moveToSuccessor({ model, target, origin, inputs }: ValidInferRequest, waiter: Waiter): boolean {
    const { name, version } = model.view;
    const successor = this.#parts.models.takeServed(name, version);
    if (successor === undefined || successor === model || target.pinnedTo !== undefined) return false;
    if (model.runner !== undefined || successor.runner !== undefined) return false;
    const request: InferRequest = {
      target: { ...target, model: name, version },
      inputs: inputs.filter((input) => input !== undefined),
      origin,
    };
    try {
      ValidInferRequest.from(request, successor, true);
    } catch {
      return false;
    }
    // The scheduler's decisions are being carried out now.
    this.#parts.clock.endOfTurn(() => this.begin(request, waiter, arrivedPart));
    return true;
  }

  /** The revision that a stream is pinned to, while it is not in memory and can be loaded again. */
  #mustStillKnow(pinned: PinnedModel, { model: name, version }: InferRequest['target']): ServedModel {
    const { models } = this.#parts;
    const listed = models.takeModel(name, version);
    // Says why it takes no requests, if it is for a while.
    if (listed === pinned) return models.mustKnow(name, version);
    throw new InferenceError(
      'model-unloaded',
      `the model version of the stream, ${name}:${version}, was replaced or removed while it was not in memory; open a new stream`,
    );
  }

  /** Checks long BYTES tensors in slices; stops, and rejects, when the caller cancels or its deadline passes meanwhile. */
  #checkTexts(request: InferRequest, model: ServedModel, waiter: Waiter, progress: Progress): void {
    const { clock, observers, sliced } = this.#parts;
    const cameAt = clock.now();
    const refuse = (error: unknown): void => {
      stopListening();
      if (error instanceof InferenceError) observers.of(model).requestRefused(error.code);
      waiter.reject(error as InferenceError);
    };
    let stopListening = (): void => {};
    const stop = sliced.run(
      longTextSlices(request, model),
      () => {
        stopListening();
        this.begin(afterWaiting(request, clock.now() - cameAt), waiter, { ...progress, checkedFor: model });
      },
      refuse,
      request.origin.caller,
    );
    stopListening = waiter.signal.onCancel((reason) => {
      stop();
      refuse(new InferenceError(reason, 'the request ended while its inputs were checked'));
    });
  }

  /** A request without a version waited for the highest one, which cannot be loaded, and a lower one serves or will. */
  #isAnsweredByAnother({ target }: InferRequest, awaited: ServedModel, error: unknown): boolean {
    if (target.version !== '' || !(error instanceof InferenceError) || error.code !== 'model-not-ready') return false;
    const other = this.#parts.models.takeView(target.model, '');
    return other !== undefined && other !== awaited.view;
  }

  /** Waits until the version is loaded, then routes the request again: it may resolve to another version by then. */
  async #bringBack(request: InferRequest, model: ServedModel, waiter: Waiter, progress: Progress): Promise<void> {
    const { clock, demand, observers } = this.#parts;
    const cameAt = clock.now();
    try {
      if (progress.attempts >= bringBackAttemptsMax) throw cannotStay(model);
      await demand.bringBack(model, request.origin.deadlineAt, waiter.signal);
    } catch (error) {
      if (this.#isAnsweredByAnother(request, model, error)) {
        this.begin(afterWaiting(request, clock.now() - cameAt), waiter, { ...progress, checkedFor: undefined });
        return;
      }
      if (error instanceof InferenceError) observers.of(model).requestRefused(error.code);
      waiter.reject(error as InferenceError);
      return;
    }
    const attempts = progress.attempts + 1;
    this.begin(afterWaiting(request, clock.now() - cameAt), waiter, { ...progress, attempts, checkedFor: undefined });
  }
}

/** Runs a decoupled request through the queue; answers go to its flow, and the promise resolves after the last one. */
function decoupled(loop: SchedulerLoop, { flow }: Waiter): Runner {
  return {
    run: (request, signal) =>
      new Promise((resolve, reject) => loop.submit(request, new Waiter(signal, resolve, reject, flow))),
  };
}

/** Triton's text, because its clients match on it. */
function manyAnswersRefusal({ view }: ServedModel): InferenceError {
  const message = `doesn't support models with decoupled transaction policy: ${quote(view.name)} may answer a request any number of times`;
  return new InferenceError('unsupported', `this call ${message}; use ModelStreamInfer`);
}

function cannotStay(model: ServedModel): InferenceError {
  const message = `${model.key} was unloaded to make room each time it was loaded; raise models.memoryBudget or retry later`;
  return new InferenceError('model-not-ready', message, { retryAfterMs: 1000 });
}
