/** The first step of a request: finds the version that its name means, and the versions that get a copy of it. */
import { shadowsOf, stableDraw } from '@millrace/core';
import type { InferRequest } from '../infer.ts';
import type { KnownModels } from '../known-models.ts';
import type { RetiringModels } from '../retiring-models.ts';
import type { ModelNames } from './model-names.ts';

export interface NameResolutionParts {
  readonly names: ModelNames;
  readonly models: KnownModels;
  readonly retiring: RetiringModels;
  /** From 0 to below 1. */
  readonly random: () => number;
}

const noVersions: readonly string[] = [];

export class NameResolution {
  readonly #names: ModelNames;
  readonly #models: KnownModels;
  readonly #retiring: RetiringModels;
  readonly #random: () => number;

  constructor({ names, models, retiring, random }: NameResolutionParts) {
    this.#names = names;
    this.#models = models;
    this.#retiring = retiring;
    this.#random = random;
  }

  /** False for most: the name is a model's own, nothing is to be decided about its version, and nobody gets a copy. */
  isNeededFor({ target }: InferRequest): boolean {
    return this.#names.isResolvable(target.model);
  }

  /**
   * The request with the real name of its model and the version that is meant. A sequence goes on with the version that
   * has its state, though its label was moved meanwhile or the split changed. Throws an `InferenceError`.
   */
  resolved(request: InferRequest): InferRequest {
    const { target } = request;
    if (!this.#names.isResolvable(target.model)) return request;
    const { sequence } = target;
    const draw = sequence === undefined ? this.#random : () => stableDraw(sequence.id);
    const { model, version } = this.#names.resolve(target.model, target.version, draw);
    const isNamed = target.version !== '' || target.model === `${model}:${version}`;
    const chosen = (isNamed ? undefined : this.#takeVersionHolding(request, model)) ?? version;
    if (model === target.model && chosen === target.version) return request;
    return { ...request, target: { ...target, model, version: chosen } };
  }

  /** Of a resolved request. */
  shadowsOf({ target }: InferRequest): readonly string[] {
    const shadows = this.#names.shadowsOf(target.model);
    // A copy of one step of a sequence would meet a shadow that does not have the state before it.
    if (shadows.length === 0 || target.sequence !== undefined) return noVersions;
    // The version that will answer, as far as can be told: a request nobody can answer is refused later.
    const answering = target.version !== '' ? target.version : (this.#names.readyVersions(target.model).at(-1) ?? '');
    return shadowsOf(shadows, answering, this.#random);
  }

  /** The version with the state that the request goes on with; undefined: it begins something new, or nobody has it. */
  #takeVersionHolding(request: InferRequest, name: string): string | undefined {
    const { sequence } = request.target;
    if (sequence === undefined || sequence.isStart) return undefined;
    const ready = this.#models.readyVersions(name).map((version) => this.#models.takeModel(name, version));
    const holder = [...this.#retiring.closing, ...ready].find(
      (model) => model?.view.name === name && model.runner?.holds?.(request) === true,
    );
    return holder?.view.version;
  }
}

/** For servers without labels and splits: every name is a model's own. */
export const plainNames: ModelNames = {
  isResolvable: () => false,
  resolve: (model, version) => ({ model, version }),
  shadowsOf: () => [],
  readyVersions: () => [],
};
