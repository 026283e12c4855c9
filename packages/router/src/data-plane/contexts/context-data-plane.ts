/** The data plane as requests name it: finds the version that is meant, sends copies to its shadows, and hands on. */
import { shadowsOf, stableDraw } from '@millrace/core';
import { type CancelSignal, type ErrorCode, InferenceError } from '@millrace/protocol';
import type { DataPlane, InferAnswer, InferRequest } from '../infer.ts';
import type { ModelNames } from './model-names.ts';
import type { ShadowTraffic } from './shadow-traffic.ts';

export interface ContextDataPlaneParts {
  readonly dataPlane: DataPlane;
  readonly names: ModelNames;
  readonly shadows: ShadowTraffic;
  /** The version that has the state which a request goes on with. */
  readonly takeVersionHolding: (request: InferRequest) => string | undefined;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export class ContextDataPlane implements DataPlane {
  readonly #dataPlane: DataPlane;
  readonly #names: ModelNames;
  readonly #shadows: ShadowTraffic;
  readonly #takeVersionHolding: ContextDataPlaneParts['takeVersionHolding'];
  readonly #random: () => number;

  constructor({ dataPlane, names, shadows, takeVersionHolding, random }: ContextDataPlaneParts) {
    this.#dataPlane = dataPlane;
    this.#names = names;
    this.#shadows = shadows;
    this.#takeVersionHolding = takeVersionHolding;
    this.#random = random;
  }

  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    if (!this.#names.isResolvable(request.model)) return this.#dataPlane.infer(request, signal);
    try {
      return this.#inferResolved(this.resolved(request), signal);
    } catch (error) {
      if (error instanceof InferenceError) this.#dataPlane.noteRefusal(error.code);
      return Promise.reject(error);
    }
  }

  noteRefusal(code: ErrorCode): void {
    this.#dataPlane.noteRefusal(code);
  }

  /**
   * The request with the real name of its model and the version that is meant. A sequence goes on with the version that
   * has its state, though its label was moved meanwhile or the split changed.
   */
  resolved(request: InferRequest): InferRequest {
    if (!this.#names.isResolvable(request.model)) return request;
    const { sequence } = request;
    const draw = sequence === undefined ? this.#random : () => stableDraw(sequence.id);
    const { model, version } = this.#names.resolve(request.model, request.version, draw);
    const isNamed = request.version !== '' || request.model === `${model}:${version}`;
    const holding = isNamed ? undefined : this.#takeVersionHolding({ ...request, model });
    const chosen = holding ?? version;
    return model === request.model && chosen === request.version ? request : { ...request, model, version: chosen };
  }

  #inferResolved(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    const shadows = this.#names.shadowsOf(request.model);
    // A copy of one step of a sequence would meet a shadow that does not have the state before it.
    if (shadows.length === 0 || request.sequence !== undefined) return this.#dataPlane.infer(request, signal);
    const versions = shadowsOf(shadows, this.#answering(request), this.#random);
    if (versions.length === 0) return this.#dataPlane.infer(request, signal);
    return this.#shadows.follow(request, versions, () => this.#dataPlane.infer(request, signal));
  }

  /** The version that will answer, as far as can be told: a request nobody can answer is refused by the data plane. */
  #answering({ model, version }: InferRequest): string {
    return version !== '' ? version : (this.#names.readyVersions(model).at(-1) ?? '');
  }
}
