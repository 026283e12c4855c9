/** The settings of a model's sequences, from `sequence_batching`: tensors that only the server writes and reads, and their limits. */
import type { SequencePolicy } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView } from './model-view.ts';

export interface Sequencing {
  readonly policy: SequencePolicy;
  /** The model as workers load it: after the inputs of its clients come the controls, then the states. */
  readonly engineView: ModelView;
  readonly controls: readonly ControlInput[];
  readonly states: readonly ImplicitState[];
  /** Of all sequences together. */
  readonly stateBytesMax: number;
}

/** An input that tells the model about the step. */
export type ControlInput =
  | {
      readonly kind: 'start' | 'end' | 'ready';
      readonly spec: TensorSpec;
      /** One element each. */
      readonly falseData: Uint8Array;
      readonly trueData: Uint8Array;
    }
  | { readonly kind: 'correlation-id'; readonly spec: TensorSpec };

/** An output of one step that is an input of the next. */
export interface ImplicitState {
  readonly spec: TensorSpec;
  /** Position among the outputs of the engine. */
  readonly output: number;
  /** The state for the first step; with the batch dimension where the model has one. */
  readonly initialShape: readonly number[];
  readonly initialData: Uint8Array;
}
