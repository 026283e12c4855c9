/**
 * What a caller may ask of a generation. Names and meanings are those of vLLM and OpenAI's clients; values come from Triton's
 * `generate`, from the opening of a stream or from an OpenAI body, and defaults from the model's generation_config.json.
 */
import { InferenceError, type JsonObject, type JsonValue, listed, nearestName, quote } from '@millrace/protocol';
import type { GenerationDefaults } from './generation-config.ts';
import {
  type NumberRange,
  numberRanges,
  readBoolean,
  readLogitBias,
  readNumber,
  readSeed,
  readStop,
} from './parameter-values.ts';

/** What decides which token is chosen. */
export interface SamplingParameters {
  /** 0: always the most probable token. */
  readonly temperature: number;
  /** 0: no limit. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  /** By token id. */
  readonly logitBias: ReadonlyMap<number, number>;
  /** Before so many tokens no end-of-text token is chosen, and stop strings do not count. */
  readonly minTokens: number;
  readonly eosTokenIds: readonly number[];
}

export interface GenerationParameters extends SamplingParameters {
  /** The text ends before the first of them. */
  readonly stop: readonly string[];
  /** Unsigned, 64 bits. Undefined: whoever begins the generation draws one, and writes it into the journal. */
  readonly seed: bigint | undefined;
  readonly maxTokens: number;
  /** An end-of-text token does not end the text. */
  readonly ignoreEos: boolean;
}

/** What the model allows. */
export interface GenerationLimits {
  readonly vocabularySize: number;
  /** The most tokens that an output may have. */
  readonly outputTokensMax: number;
}

/** What it takes to tell whether parameters are right before a text is there. */
export interface GenerationBounds {
  readonly defaults: GenerationDefaults;
  readonly limits: GenerationLimits;
}

/** Other names for `max_tokens`: of OpenAI's newer clients and of Hugging Face. */
const maxTokensNames = ['max_tokens', 'max_completion_tokens', 'max_new_tokens'] as const;

export const generationParameterNames: readonly string[] = [
  ...Object.keys(numberRanges),
  'logit_bias',
  'stop',
  'seed',
  ...maxTokensNames,
  'min_tokens',
  'ignore_eos',
];

/** Throws `invalid-request` with every problem. A parameter that is null counts as absent, as OpenAI's clients send it. */
export function parseGenerationParameters(
  given: JsonObject,
  defaults: GenerationDefaults,
  limits: GenerationLimits,
): GenerationParameters {
  const problems = unknownNames(given);
  const read = <Value>(name: string, absent: Value, reader: (value: JsonValue) => Value): Value => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || value === null) return absent;
    try {
      return reader(value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      problems.push(`${name} ${error.message}`);
      return absent;
    }
  };
  const number = (name: keyof typeof numberRanges, absent: number): number =>
    read(name, absent, (value) => readNumber(value, numberRanges[name]));
  const tokens: NumberRange = { least: 1, most: limits.outputTokensMax, isInteger: true };
  const asked = maxTokensNames.map((name) =>
    read<number | undefined>(name, undefined, (value) => readNumber(value, tokens)),
  );
  const different = new Set(asked.filter((value) => value !== undefined));
  if (different.size > 1)
    problems.push(`${maxTokensNames.join(', ')} are one parameter, and have different values; send one`);
  const maxTokens = asked.find((value) => value !== undefined) ?? Math.min(defaults.maxTokens ?? Infinity, tokens.most);
  const topK = number('top_k', defaults.topK);
  const parameters: GenerationParameters = {
    temperature: number('temperature', defaults.temperature),
    topK: Math.max(topK, 0),
    topP: number('top_p', defaults.topP),
    minP: number('min_p', defaults.minP),
    repetitionPenalty: number('repetition_penalty', defaults.repetitionPenalty),
    presencePenalty: number('presence_penalty', 0),
    frequencyPenalty: number('frequency_penalty', 0),
    logitBias: read<ReadonlyMap<number, number>>('logit_bias', new Map(), (value) =>
      readLogitBias(value, limits.vocabularySize),
    ),
    stop: read('stop', [], readStop),
    seed: read<bigint | undefined>('seed', undefined, readSeed),
    maxTokens,
    minTokens: read('min_tokens', 0, (value) => readNumber(value, { least: 0, most: maxTokens, isInteger: true })),
    ignoreEos: read('ignore_eos', false, readBoolean),
    eosTokenIds: defaults.eosTokenIds.filter((id) => id < limits.vocabularySize),
  };
  if (problems.length > 0) throw new InferenceError('invalid-request', `parameters: ${problems.join('; ')}`);
  return parameters;
}

/** One problem for all of them, since each has the same list of known names. */
function unknownNames(given: JsonObject): string[] {
  const unknown = Object.keys(given).filter((name) => !generationParameterNames.includes(name));
  if (unknown.length === 0) return [];
  const shown = unknown.map((name) => {
    const near = nearestName(name, generationParameterNames);
    return near === undefined ? quote(name) : `${quote(name)} (did you mean ${near}?)`;
  });
  return [`unknown name ${listed(shown, 3)}; known are ${generationParameterNames.join(', ')}`];
}
