/** The data plane's interface for edges: resolves the name of a request, sends copies to shadows, and routes it to its runner. */
import { type CancelSignal, type ErrorCode, InferenceError } from '@millrace/protocol';
import type { AnswerFlow } from './answer-flow.ts';
import type { InputMemory } from './arriving-inputs.ts';
import type { Clock } from './clock.ts';
import type { DataPlane, FitPart, InferAnswer, InferRequest } from './infer.ts';
import type { KnownModels } from './known-models.ts';
import type { DataPlaneObserver } from './observer.ts';
import { arrived, arrivedPart, type RequestRouting } from './request-routing.ts';
import type { SchedulerLoop } from './scheduler-loop.ts';
import type { InferStream, StreamInput, StreamOptions } from './streams/infer-stream.ts';
import { StreamSession } from './streams/stream-session.ts';
import type { NameResolution } from './traffic/name-resolution.ts';
import type { ShadowTraffic } from './traffic/shadow-traffic.ts';
import { Waiter } from './waiter.ts';

export interface InferenceParts {
  readonly names: NameResolution;
  readonly shadows: ShadowTraffic | undefined;
  readonly models: KnownModels;
  readonly routing: Pick<RequestRouting, 'begin'>;
  readonly loop: Pick<SchedulerLoop, 'inputMemoryFor'>;
  readonly observer: DataPlaneObserver;
  readonly clock: Clock;
}

export class Inference implements DataPlane {
  readonly #parts: InferenceParts;

  constructor(parts: InferenceParts) {
    this.#parts = parts;
  }

  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    const { names, shadows } = this.#parts;
    if (!names.isNeededFor(request)) return this.inferResolved(request, signal);
    let resolved: InferRequest;
    try {
      resolved = names.resolved(request);
    } catch (error) {
      return this.#refuseUnresolved(error);
    }
    const versions = shadows === undefined ? [] : names.shadowsOf(resolved);
    if (shadows === undefined || versions.length === 0) return this.inferResolved(resolved, signal);
    return shadows.follow(resolved, versions, () => this.inferResolved(resolved, signal));
  }

  /** Infers a request whose version is resolved, or empty for the version that the model's policy prefers. */
  inferResolved(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return Waiter.promise(signal, (waiter) => this.#parts.routing.begin(request, waiter, arrived));
  }

  /**
   * Infers a request that may have several answers: each goes to `flow`, and the promise resolves after the last one, with an
   * answer that only marks the end; for a model with one answer, it resolves with that. No copies go to shadows.
   */
  inferMany(request: InferRequest, signal: CancelSignal, flow: AnswerFlow | undefined): Promise<InferAnswer> {
    let resolved: InferRequest;
    try {
      // A stream may hold a version that is no longer listed.
      resolved = request.target.pinnedTo === undefined ? this.#parts.names.resolved(request) : request;
    } catch (error) {
      return this.#refuseUnresolved(error);
    }
    return new Promise((resolve, reject) => {
      this.#parts.routing.begin(resolved, new Waiter(signal, resolve, reject, flow), arrived);
    });
  }

  /**
   * Infers a part of a request that was accepted before, for its runner: answered also while the server drains. `fit` adapts
   * it to the version that it goes to.
   */
  inferPart(request: InferRequest, signal: CancelSignal, fit?: FitPart): Promise<InferAnswer> {
    const { names, models, routing } = this.#parts;
    let resolved: InferRequest;
    try {
      resolved = names.resolved(request);
      const view = fit && models.takeView(resolved.target.model, resolved.target.version);
      if (fit !== undefined && view !== undefined) resolved = fit(resolved, view);
    } catch (error) {
      return this.#refuseUnresolved(error);
    }
    return Waiter.promise(signal, (waiter) => routing.begin(resolved, waiter, arrivedPart));
  }

  /** The request with the real name of its model and the resolved version. Throws an `InferenceError`. */
  resolved(request: InferRequest): InferRequest {
    return this.#parts.names.resolved(request);
  }

  openStream<Input extends StreamInput>(options: StreamOptions<Input>): InferStream<Input> {
    return new StreamSession({
      ...options,
      inferMany: (request, signal, flow) => this.inferMany(request, signal, flow),
    });
  }

  deadlineAfter(timeoutMs: number | undefined): number {
    return timeoutMs === undefined ? Number.POSITIVE_INFINITY : this.#parts.clock.now() + timeoutMs;
  }

  /** The name is not resolved: what a label or a split leads to is received in any memory, or copied once more. */
  inputMemory(model: string, version: string): InputMemory | undefined {
    const served = this.#parts.models.takeServed(model, version);
    return served && this.#parts.loop.inputMemoryFor(served);
  }

  noteRefusal(code: ErrorCode): void {
    this.#parts.observer.requestRefused(code);
  }

  #refuseUnresolved(error: unknown): Promise<never> {
    if (error instanceof InferenceError) this.#parts.observer.requestRefused(error.code);
    return Promise.reject(error);
  }
}
