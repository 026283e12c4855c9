/** What a model's sequences need: tensors that only the server gives and takes, and their limits. Read from `sequence_batching`. */
import type { SequencePolicy } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView } from './model-view.ts';

export interface Sequencing {
  readonly policy: SequencePolicy;
  /** The model as workers load it: behind the inputs of its clients come the controls, then the states. */
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
  /** What the first step gets; with the batch dimension where the model has one. */
  readonly initialShape: readonly number[];
  readonly initialData: Uint8Array;
}
