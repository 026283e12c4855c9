/**
 * genai_config.json, which the model builder of ONNX Runtime GenAI writes in place of config.json and generation_config.json: the same
 * values under other names.
 */
import { isJsonFields, type JsonFields } from './model-file-error.ts';

export const genaiConfigFile = 'genai_config.json';

export interface GenaiConfig {
  /** With the names of config.json. */
  readonly config: JsonFields;
  /** With the names of generation_config.json. */
  readonly generation: JsonFields;
}

export function readGenaiConfig(fields: JsonFields): GenaiConfig {
  const model = fieldsOf(fields.model);
  const decoder = fieldsOf(model.decoder);
  const search = fieldsOf(fields.search);
  const { eos_token_id, bos_token_id, pad_token_id } = model;
  const { do_sample, temperature, top_k, top_p, repetition_penalty } = search;
  return {
    config: {
      vocab_size: model.vocab_size,
      max_position_embeddings: model.context_length,
      head_dim: decoder.head_size,
      hidden_size: decoder.hidden_size,
      num_attention_heads: decoder.num_attention_heads,
      num_key_value_heads: decoder.num_key_value_heads,
    },
    generation: {
      ...{ do_sample, temperature, top_k, top_p, repetition_penalty },
      ...{ eos_token_id, bos_token_id, pad_token_id },
    },
  };
}

function fieldsOf(value: unknown): JsonFields {
  return isJsonFields(value) ? value : {};
}
