/**
 * Recognises a decoder as Hugging Face's exporters write it: a folder with model.onnx, tokenizer.json and some JSON files beside them,
 * and a graph whose inputs and outputs have names and shapes by a convention. Files are read by the caller.
 */
import type { Datatype } from '@millrace/protocol';
import { type DecoderCache, isCacheInput, readDecoderCache } from './decoder-cache.ts';
import type { DecoderFiles } from './decoder-files.ts';
import { type FixedSizes, readFixedSizes } from './fixed-sizes.ts';
import { genaiConfigFile, readGenaiConfig } from './genai-config.ts';
import { type GenerationDefaults, readGenerationConfig } from './generation-config.ts';
import { isJsonFields, type JsonFields, ModelFileError, parseJsonFile } from './model-file-error.ts';

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
  /** The operator says that it generates text, so that no file has to. */
  readonly isDeclared?: boolean;
  /** The name of the graph's file, for messages; default: model.onnx. */
  readonly graphFile?: string;
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
  readonly sizes: FixedSizes;
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
  { inputs, outputs, files, isDeclared = false, graphFile = 'model.onnx' }: DecoderFolder,
  takeTokenId: (token: string) => number | undefined,
): DecoderDescription {
  const refuse = (reason: string): never => {
    throw new Refusal(reason);
  };
  if (files['tokenizer.json'] === undefined) refuse('tokenizer.json is missing');
  // A graph that is no decoder does not need the other files, so what is wrong in them does not matter.
  refuseOtherGraphs(inputs, outputs, refuse);
  const genai =
    files[genaiConfigFile] === undefined ? undefined : readGenaiConfig(parsedOrEmpty(files, genaiConfigFile));
  const generationFile =
    files['generation_config.json'] === undefined && genai ? genaiConfigFile : 'generation_config.json';
  const configFile = files['config.json'] === undefined && genai ? genaiConfigFile : 'config.json';
  const generation =
    files['generation_config.json'] === undefined ? genai?.generation : parsedOrEmpty(files, 'generation_config.json');
  const hasCache = inputs.some(({ name }) => isCacheInput(name));
  const mayClassify = !hasCache && generation === undefined && !isDeclared && rankOf(outputs, 'logits') !== 3;
  const ownConfig = mayClassify ? takeParsed(files, 'config.json') : parsedOrEmpty(files, 'config.json');
  const config = configFile === genaiConfigFile ? (genai?.config ?? {}) : ownConfig;
  const tokenizerConfig = parsedOrEmpty(files, 'tokenizer_config.json');
  const textConfig = isJsonFields(config.text_config) ? { ...config, ...config.text_config } : config;
  const plain = (purpose: Purpose): DecoderInput | undefined => plainInput(inputs, purpose, refuse);
  const inputIds = plain('inputIds') ?? refuse('there is no input input_ids');
  const cache = readDecoderCache(inputs, outputs, { file: configFile, fields: textConfig }, refuse);
  if (cache === undefined && generation === undefined && !isDeclared && !isCausal(textConfig)) {
    refuse(
      'it has no cache, no generation_config.json, and config.json does not say that it generates text (…ForCausalLM); if it does, set backend: "generator" in config.pbtxt',
    );
  }
  const { vocabulary, ...logits } = readLogits(outputs, refuse);
  const vocabularySize =
    vocabulary ?? takeSize(textConfig, 'vocab_size') ?? missingVocabulary(configFile, cache !== undefined, refuse);
  const sources = { generation: generationFile, config: configFile };
  const ofFiles = readGenerationConfig(generation ?? {}, textConfig, sources);
  const defaults = withNamedTokens(ofFiles, tokenizerConfig, takeTokenId);
  checkEndTokens(defaults, vocabularySize, [
    [generationFile, generation ?? {}],
    [configFile, textConfig],
  ]);
  const named = (...purposes: readonly Purpose[]): readonly GraphTensor[] =>
    inputs.filter(({ name }) => purposes.some((purpose) => isNamed(name, purpose)));
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
    vocabularySize,
    sizes: readFixedSizes(graphFile, {
      tokens: named('inputIds', 'positionIds'),
      masks: named('attentionMask'),
      lengths: named('sequenceLengths'),
      caches: inputs.filter(({ name }) => isCacheInput(name)),
    }),
    contextTokensMax: contextTokensOf(textConfig, tokenizerConfig),
    defaults,
  };
}

type Refuse = (reason: string) => never;

/** A graph with a cache is a decoder for sure, so it is not served as a plain graph in silence. */
function missingVocabulary(file: string, hasCache: boolean, refuse: Refuse): never {
  if (!hasCache) return refuse(`neither the output logits nor ${file} has the vocabulary size`);
  throw new ModelFileError(
    file,
    'is missing or does not have the vocabulary size (vocab_size), which the graph leaves open; use the file that belongs to the model',
  );
}

/** Refuses by the names of inputs and outputs alone. */
function refuseOtherGraphs(inputs: readonly GraphTensor[], outputs: readonly GraphTensor[], refuse: Refuse): void {
  for (const { name } of inputs) {
    if (Object.hasOwn(foreignInputs, name)) refuse(`input ${name}: ${foreignInputs[name]}`);
  }
  if (!inputs.some(({ name }) => isNamed(name, 'inputIds'))) refuse('there is no input input_ids');
  if (!outputs.some(({ name }) => name === 'logits')) refuse('there is no output logits');
  const purposes = Object.keys(plainInputs) as Purpose[];
  const unknown = inputs.find(({ name }) => !isCacheInput(name) && !purposes.some((purpose) => isNamed(name, purpose)));
  if (unknown === undefined) return;
  if (/^past/.test(unknown.name)) {
    refuse(`input ${unknown.name}: its name is not of the form past_key_values.0.key, so its layout is not known`);
  }
  refuse(`input ${unknown.name} has no purpose that is known for decoders`);
}

function isNamed(name: string, purpose: Purpose): boolean {
  const names: readonly string[] = plainInputs[purpose].names;
  return names.includes(name);
}

function rankOf(outputs: readonly GraphTensor[], wanted: string): number | undefined {
  return outputs.find(({ name }) => name === wanted)?.shape?.length;
}

/** Where the file may be of no interest: one that cannot be read counts as empty. */
function takeParsed(files: DecoderFiles, name: keyof DecoderFiles): JsonFields {
  try {
    return parsedOrEmpty(files, name);
  } catch (error) {
    if (error instanceof ModelFileError) return {};
    throw error;
  }
}

/**
 * A text would never end by itself if the graph could not give any of its end-of-text tokens.
 *
 * @param sources files that may have the ids, in the order in which they count
 */
function checkEndTokens(
  { eosTokenIds }: GenerationDefaults,
  vocabularySize: number,
  sources: readonly (readonly [string, JsonFields])[],
): void {
  if (eosTokenIds.length === 0 || eosTokenIds.some((id) => id < vocabularySize)) return;
  const [file, field] = sources.flatMap(([name, { eos_token_id: id }]) =>
    id == null ? [] : [[name, 'eos_token_id']],
  )[0] ?? ['tokenizer_config.json', 'eos_token'];
  throw new ModelFileError(
    file as string,
    `${field} is ${eosTokenIds.join(', ')}, and the vocabulary of the graph has ${vocabularySize} tokens`,
  );
}

function parsedOrEmpty(files: DecoderFiles, name: keyof DecoderFiles): JsonFields {
  const text = files[name];
  return text === undefined ? {} : parseJsonFile(name, text);
}

function plainInput(inputs: readonly GraphTensor[], purpose: Purpose, refuse: Refuse): DecoderInput | undefined {
  const datatypes: readonly Datatype[] = plainInputs[purpose].datatypes;
  const found = inputs.find((input) => isNamed(input.name, purpose));
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
