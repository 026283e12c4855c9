/** Triton's ModelConfig as `proto/inference/model_config.proto` declares it, in the form that this folder reads and formats. */
import {
  type ModelConfigJson,
  type ModelConfig as ModelConfigMessage,
  ModelConfigSchema,
} from '../../proto/generated/inference/model_config_pb.ts';
import { schemaFrom } from './schema.ts';
import type { WrittenMessage } from './written-message.ts';

export const modelConfigSchema = schemaFrom(ModelConfigSchema);

/** A model's configuration as far as it was written. */
export type ModelConfig = WrittenMessage<ModelConfigMessage, ModelConfigJson>;
export type ModelConfigInput = NonNullable<ModelConfig['input']>[number];
export type ModelConfigOutput = NonNullable<ModelConfig['output']>[number];
