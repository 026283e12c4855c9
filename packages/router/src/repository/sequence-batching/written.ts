/** The types of the parts of `sequence_batching` in a configuration. */
import type { ModelConfig } from '../config-text/model-config-schema.ts';

export type WrittenSequences = NonNullable<ModelConfig['sequence_batching']>;
export type WrittenControlInput = NonNullable<WrittenSequences['control_input']>[number];
export type WrittenControl = NonNullable<WrittenControlInput['control']>[number];
export type WrittenState = NonNullable<WrittenSequences['state']>[number];
