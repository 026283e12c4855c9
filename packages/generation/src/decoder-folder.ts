/**
 * Recognises a decoder as Hugging Face's exporters write it: a folder with model.onnx, tokenizer.json and some JSON files beside them,
 * and a graph whose inputs and outputs have names and shapes by a convention. Files are read by the caller.
 */
import type { Datatype } from '@millrace/protocol';
import { type DecoderCache, readDecoderCache } from './decoder-cache.ts';
import type { DecoderFiles } from './decoder-files.ts';
import { type GenerationDefaults, readGenerationConfig } from './generation-config.ts';
import { isJsonFields, type JsonFields, parseJsonFile } from './model-file-error.ts';

/** An input or output of a graph. A dimension is a size, or the name of a free one; undefined: the file does not say. */
export interface GraphTensor {
  readonly name: string;
  readonly datatype: Datatype | undefined;
  readonly shape: readonly (number | string)[] | undefined;
}

export interface DecoderFolder {
  readonly inputs: readonly GraphTensor[];
  readonly outputs: readonly GraphTensor[];
  readonly files: DecoderFiles;
}

export interface DecoderInput {
  readonly name: string;
  readonly datatype: Datatype;
}

export interface DecoderDescription {
  readonly kind: 'decoder';
  /** [batch, sequence] */
  readonly inputIds: DecoderInput;
  /** [batch, past + sequence]: 1 for a token, 0 for padding. */
  readonly attentionMask: DecoderInput | undefined;
  /** [batch, sequence] */
  readonly positionIds: DecoderInput | undefined;
  /** Of merged exports, [1]: whether the cache has content. */
  readonly useCacheBranch: DecoderInput | undefined;
  /** [batch]: the length of each row with its new tokens, less one (GroupQueryAttention). */
  readonly sequenceLengths: DecoderInput | undefined;
  /** The greatest length of a row with its new tokens. */
  readonly totalSequenceLength: DecoderInput | undefined;
  /** For how many positions from the end logits are computed. */
  readonly logitsToKeep: DecoderInput | undefined;
  readonly logits: {
    readonly name: string;
    readonly datatype: 'FP32' | 'FP16';
    /** `all`: [batch, sequence, vocabulary]; `last`: [batch, 1, vocabulary] or [batch, vocabulary]. */
    readonly positions: 'all' | 'last';
  };
  /** Undefined: the graph has none, and reads the whole text at every step. */
  readonly cache: DecoderCache | undefined;
  readonly vocabularySize: number;
  /** Undefined: no file says. */
  readonly contextTokensMax: number | undefined;
  readonly defaults: GenerationDefaults;
}

/** Why a folder is not served as a decoder. */
export interface NotDecoder {
  readonly kind: 'not-a-decoder';
  readonly reason: string;
}

const integers: readonly Datatype[] = ['INT64', 'INT32'];
/** Inputs by purpose: the names that exporters use and the datatypes that they can have. */
const plainInputs = {
  inputIds: { names: ['input_ids'], datatypes: integers },
  attentionMask: { names: ['attention_mask'], datatypes: integers },
  positionIds: { names: ['position_ids'], datatypes: integers },
  useCacheBranch: { names: ['use_cache_branch'], datatypes: ['BOOL'] },
  sequenceLengths: { names: ['seqlens_k'], datatypes: integers },
  totalSequenceLength: { names: ['total_sequence_length'], datatypes: integers },
  logitsToKeep: { names: ['num_logits_to_keep', 'logits_to_keep'], datatypes: integers },
} as const satisfies Record<string, { readonly names: readonly string[]; readonly datatypes: readonly Datatype[] }>;
type Purpose = keyof typeof plainInputs;

/** Inputs that tell another kind of model. */
const foreignInputs: Readonly<Record<string, string>> = {
  encoder_hidden_states: 'it reads the output of an encoder; only decoders that stand alone are supported',
  inputs_embeds: 'it reads embeddings instead of token ids, as parts of multimodal models do',
  token_type_ids: 'it reads token types, as encoders such as BERT do',
  pixel_values: 'it reads images',
};

/** What a folder lacks to be a decoder: ends the description. */
class Refusal extends Error {}

/** @param takeTokenId the id of a token by its text: where no file has the id of the end-of-text token, but its text */
export function describeDecoder(
  folder: DecoderFolder,
  takeTokenId: (token: string) => number | undefined = () => undefined,
): DecoderDescription | NotDecoder {
  try {
    return described(folder, takeTokenId);
  } catch (error) {
    if (error instanceof Refusal) return { kind: 'not-a-decoder', reason: error.message };
    throw error;
  }
}

function described(
  { inputs, outputs, files }: DecoderFolder,
  takeTokenId: (token: string) => number | undefined,
): DecoderDescription {
  const refuse = (reason: string): never => {
    throw new Refusal(reason);
  };
  if (files['tokenizer.json'] === undefined) refuse('tokenizer.json is missing');
  const config = parsedOrEmpty(files, 'config.json');
  const generation =
    files['generation_config.json'] === undefined ? undefined : parsedOrEmpty(files, 'generation_config.json');
  const tokenizerConfig = parsedOrEmpty(files, 'tokenizer_config.json');
  const textConfig = isJsonFields(config.text_config) ? { ...config, ...config.text_config } : config;
  for (const { name } of inputs) {
    if (Object.hasOwn(foreignInputs, name)) refuse(`input ${name}: ${foreignInputs[name]}`);
  }
  const plain = (purpose: Purpose): DecoderInput | undefined => plainInput(inputs, purpose, refuse);
  const inputIds = plain('inputIds') ?? refuse('there is no input input_ids');
  const cache = readDecoderCache(inputs, outputs, textConfig, refuse);
  const known = new Set<string>(Object.values(plainInputs).flatMap(({ names }) => [...names]));
  for (const { pastKey, pastValue } of cache?.layers ?? []) known.add(pastKey).add(pastValue);
  const unknown = inputs.find(({ name }) => !known.has(name));
  if (unknown !== undefined) refuse(`input ${unknown.name} has no purpose that is known for decoders`);
  if (cache === undefined && generation === undefined && !isCausal(textConfig)) {
    refuse(
      'it has no cache, no generation_config.json, and config.json does not say that it generates text (…ForCausalLM)',
    );
  }
  const { vocabulary, ...logits } = readLogits(outputs, refuse);
  const defaults = readGenerationConfig(generation ?? {}, textConfig);
  return {
    kind: 'decoder',
    inputIds,
    attentionMask: plain('attentionMask'),
    positionIds: plain('positionIds'),
    useCacheBranch: plain('useCacheBranch'),
    sequenceLengths: plain('sequenceLengths'),
    totalSequenceLength: plain('totalSequenceLength'),
    logitsToKeep: plain('logitsToKeep'),
    logits,
    cache,
    vocabularySize:
      vocabulary ??
      takeSize(textConfig, 'vocab_size') ??
      refuse('neither the output logits nor config.json has the vocabulary size'),
    contextTokensMax: contextTokensOf(textConfig, tokenizerConfig),
    defaults: withNamedTokens(defaults, tokenizerConfig, takeTokenId),
  };
}

type Refuse = (reason: string) => never;

function parsedOrEmpty(files: DecoderFiles, name: keyof DecoderFiles): JsonFields {
  const text = files[name];
  return text === undefined ? {} : parseJsonFile(name, text);
}

function plainInput(inputs: readonly GraphTensor[], purpose: Purpose, refuse: Refuse): DecoderInput | undefined {
  const names: readonly string[] = plainInputs[purpose].names;
  const datatypes: readonly Datatype[] = plainInputs[purpose].datatypes;
  const found = inputs.find(({ name }) => names.includes(name));
  if (found === undefined) return undefined;
  const { name, datatype, shape } = found;
  if (datatype === undefined || !datatypes.includes(datatype)) {
    return refuse(`input ${name} is ${datatype ?? 'of no known datatype'}; expected is ${datatypes.join(' or ')}`);
  }
  if (['inputIds', 'attentionMask', 'positionIds'].includes(purpose) && shape !== undefined && shape.length !== 2) {
    return refuse(`input ${name} has ${shape.length} dimensions; expected are [batch, sequence]`);
  }
  return { name, datatype };
}

function readLogits(
  outputs: readonly GraphTensor[],
  refuse: Refuse,
): DecoderDescription['logits'] & { readonly vocabulary: number | undefined } {
  const { name, datatype, shape } =
    outputs.find((output) => output.name === 'logits') ?? refuse('there is no output logits');
  if (datatype !== 'FP32' && datatype !== 'FP16') {
    return refuse(`output logits is ${datatype ?? 'of no known datatype'}; expected is FP32 or FP16`);
  }
  if (shape?.length !== 2 && shape?.length !== 3) {
    return refuse(
      `output logits has the shape [${shape?.join(', ') ?? 'unknown'}]; expected is [batch, sequence, vocabulary]`,
    );
  }
  const vocabulary = shape.at(-1);
  const positions = shape.length === 2 || shape[1] === 1 ? 'last' : 'all';
  return { name, datatype, positions, vocabulary: typeof vocabulary === 'number' ? vocabulary : undefined };
}

function isCausal(config: JsonFields): boolean {
  const architectures = Array.isArray(config.architectures) ? config.architectures : [];
  return config.is_decoder === true || architectures.some((name) => /(ForCausalLM|LMHeadModel)$/.test(String(name)));
}

/** A whole number above 0 of config.json. */
function takeSize(fields: JsonFields, name: string): number | undefined {
  const value = fields[name];
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}

const contextNames = ['max_position_embeddings', 'n_positions', 'n_ctx', 'max_sequence_length', 'seq_length'];
/** Where a tokenizer has no limit, its file says 10^30. */
const contextTokensBelieved = 2 ** 31;

function contextTokensOf(config: JsonFields, tokenizerConfig: JsonFields): number | undefined {
  const stated = contextNames.map((name) => takeSize(config, name)).find((size) => size !== undefined);
  const ofTokenizer = takeSize(tokenizerConfig, 'model_max_length');
  return stated ?? (ofTokenizer !== undefined && ofTokenizer < contextTokensBelieved ? ofTokenizer : undefined);
}

/** Fills in, by the texts in tokenizer_config.json, the tokens whose ids no other file has. */
function withNamedTokens(
  defaults: GenerationDefaults,
  tokenizerConfig: JsonFields,
  takeTokenId: (token: string) => number | undefined,
): GenerationDefaults {
  const named = (name: string): number | undefined => {
    const value = tokenizerConfig[name];
    const text = isJsonFields(value) ? value.content : value;
    return typeof text === 'string' ? takeTokenId(text) : undefined;
  };
  const eos = named('eos_token');
  return {
    ...defaults,
    eosTokenIds: defaults.eosTokenIds.length > 0 || eos === undefined ? defaults.eosTokenIds : [eos],
    bosTokenId: defaults.bosTokenId ?? named('bos_token'),
    padTokenId: defaults.padTokenId ?? named('pad_token'),
  };
}
