/** The data plane as requests name it: finds the version that is meant, sends copies to its shadows, and hands on. */
import { shadowsOf, stableDraw } from '@millrace/core';
import { type CancelSignal, type ErrorCode, InferenceError } from '@millrace/protocol';
import type { Contexts, ResolvedModel } from '../../registry/contexts/contexts.ts';
import type { TrafficTable } from '../../registry/contexts/traffic-table.ts';
import type { DataPlane, InferAnswer, InferRequest, SequenceStep } from '../infer.ts';
import type { ShadowTraffic } from './shadow-traffic.ts';

export interface ContextDataPlaneParts {
  readonly dataPlane: DataPlane;
  readonly contexts: Contexts;
  readonly traffic: TrafficTable;
  readonly shadows: ShadowTraffic;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export class ContextDataPlane implements DataPlane {
  readonly #dataPlane: DataPlane;
  readonly #contexts: Contexts;
  readonly #traffic: TrafficTable;
  readonly #shadows: ShadowTraffic;
  readonly #random: () => number;

  constructor({ dataPlane, contexts, traffic, shadows, random }: ContextDataPlaneParts) {
    this.#dataPlane = dataPlane;
    this.#contexts = contexts;
    this.#traffic = traffic;
    this.#shadows = shadows;
    this.#random = random;
  }

  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    if (!this.#contexts.isResolvable(request.model)) return this.#dataPlane.infer(request, signal);
    try {
      return this.#inferResolved(this.#resolved(request), signal);
    } catch (error) {
      if (error instanceof InferenceError) this.#dataPlane.noteRefusal(error.code);
      return Promise.reject(error);
    }
  }

  noteRefusal(code: ErrorCode): void {
    this.#dataPlane.noteRefusal(code);
  }

  /** What a request means by a name and a version. Steps of one sequence mean the same as long as the split is the same. */
  resolve(name: string, version: string, sequence: SequenceStep | undefined): ResolvedModel {
    const draw = sequence === undefined ? this.#random : () => stableDraw(sequence.id);
    return this.#contexts.resolve(name, version, draw);
  }

  #resolved(request: InferRequest): InferRequest {
    const { model, version } = this.resolve(request.model, request.version, request.sequence);
    return model === request.model && version === request.version ? request : { ...request, model, version };
  }

  #inferResolved(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    const shadows = this.#traffic.take(request.model)?.shadows ?? [];
    // A copy of one step of a sequence would meet a shadow that does not have the state before it.
    if (shadows.length === 0 || request.sequence !== undefined) return this.#dataPlane.infer(request, signal);
    const versions = shadowsOf(shadows, this.#answering(request), this.#random);
    if (versions.length === 0) return this.#dataPlane.infer(request, signal);
    return this.#shadows.follow(request, versions, () => this.#dataPlane.infer(request, signal));
  }

  /** The version that will answer, as far as can be told: a request nobody can answer is refused by the data plane. */
  #answering({ model, version }: InferRequest): string {
    return version !== '' ? version : (this.#contexts.readyVersions(model).at(-1) ?? '');
  }
}
