/** The first step of a request: resolves its name to a version, and finds the shadows that get a copy of it. */
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

  /** False for most requests: the name is a model's own, without labels, splits or shadows to apply. */
  isNeededFor({ target }: InferRequest): boolean {
    return this.#names.isResolvable(target.model);
  }

  /**
   * The request with the real name of its model and the resolved version. A sequence continues with the version that has its
   * state, even if its label was moved or the split changed meanwhile. Throws an `InferenceError`.
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

  /** The versions that get a copy of a resolved request. */
  shadowsOf({ target }: InferRequest): readonly string[] {
    const shadows = this.#names.shadowsOf(target.model);
    // No copies of a sequence's steps: the shadow does not have the sequence's state.
    if (shadows.length === 0 || target.sequence !== undefined) return noVersions;
    // The version that will probably answer; a request that no version can answer is refused later.
    const answering = target.version !== '' ? target.version : (this.#names.readyVersions(target.model).at(-1) ?? '');
    return shadowsOf(shadows, answering, this.#random);
  }

  /** The version with the state that the request continues with; undefined: it starts a sequence, or no version has the state. */
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
