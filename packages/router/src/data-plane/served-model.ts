/** A model version as the data plane serves it: what its clients see, plus what never changes from request to request. */
import type { ModelKey, ModelLimits } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView } from '../registry/catalogue.ts';

export class ServedModel {
  readonly key: ModelKey;
  readonly view: ModelView;
  readonly limits: ModelLimits;
  /** The number by which dispatches name the model to workers. */
  readonly handle: number;
  readonly inputIndex: ReadonlyMap<string, number>;
  readonly outputIndex: ReadonlyMap<string, number>;
  readonly requiredInputs: number;
  /** Every request has the same inputs and row shapes, so any two may share a batch. */
  readonly isUniform: boolean;
  readonly allOutputs: readonly number[];

  constructor(view: ModelView, limits: ModelLimits, handle: number) {
    this.key = modelKeyFrom(view.name, view.version);
    this.view = view;
    this.limits = limits;
    this.handle = handle;
    this.inputIndex = new Map(view.inputs.map((input, index) => [input.name, index]));
    this.outputIndex = new Map(view.outputs.map((output, index) => [output.name, index]));
    this.requiredInputs = view.inputs.filter((input) => input.isOptional !== true).length;
    this.isUniform =
      this.requiredInputs === view.inputs.length && view.inputs.every((input) => !hasFreeRowDimension(input, view));
    this.allOutputs = view.outputs.map((_, index) => index);
  }
}

export function modelKeyFrom(name: string, version: string): ModelKey {
  return `${name}:${version}`;
}

function hasFreeRowDimension(input: TensorSpec, view: ModelView): boolean {
  return input.shape.some((dimension, axis) => dimension < 0 && !(view.isBatched && axis === 0));
}
