/** generation_config.json: what the makers of a model recommend for its generation, and which tokens end it. */
import type { JsonValue } from '@millrace/protocol';
import { type JsonFields, ModelFileError } from './model-file-error.ts';
import { numberRanges, readNumber } from './parameter-values.ts';

export interface GenerationDefaults {
  readonly temperature: number;
  /** 0: no limit. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  /** Undefined: as many as the context holds. */
  readonly maxTokens: number | undefined;
  /** Empty: no token ends a text. */
  readonly eosTokenIds: readonly number[];
  readonly bosTokenId: number | undefined;
  readonly padTokenId: number | undefined;
}

/** The names of the files, for messages. */
export interface GenerationSources {
  readonly generation: string;
  readonly config: string;
}

const usualSources: GenerationSources = { generation: 'generation_config.json', config: 'config.json' };
const tokenIdMax = 2 ** 31 - 1;

/**
 * @param config config.json, which names the tokens where generation_config.json does not
 */
export function readGenerationConfig(
  generation: JsonFields,
  config: JsonFields = {},
  sources: GenerationSources = usualSources,
): GenerationDefaults {
  const file = sources.generation;
  const number = (name: keyof typeof numberRanges, absent: number): number =>
    checked(file, generation, name, numberRanges[name]) ?? absent;
  const tokenIds = (name: string): readonly number[] =>
    readTokenIds(file, generation, name) ?? readTokenIds(sources.config, config, name) ?? [];
  // Old exports write -1 where there is no such token.
  const optionalTokenId = (name: string): number | undefined =>
    (generation[name] ?? config[name]) === -1 ? undefined : tokenIds(name)[0];
  return {
    // As in vLLM, a file that does not mention sampling gets temperature 1, which OpenAI's clients expect.
    temperature: generation.do_sample === false ? 0 : number('temperature', 1),
    topK: Math.max(number('top_k', 0), 0),
    topP: number('top_p', 1),
    minP: number('min_p', 0),
    repetitionPenalty: number('repetition_penalty', 1),
    maxTokens: checked(file, generation, 'max_new_tokens', { least: 1, most: tokenIdMax, isInteger: true }),
    eosTokenIds: tokenIds('eos_token_id'),
    bosTokenId: optionalTokenId('bos_token_id'),
    padTokenId: optionalTokenId('pad_token_id'),
  };
}

/** A number or a list of them; undefined where the file does not say, or says null. */
function readTokenIds(source: string, fields: JsonFields, name: string): readonly number[] | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  const range = { least: 0, most: tokenIdMax, isInteger: true };
  return (Array.isArray(value) ? value : [value]).map((id) => checked(source, { [name]: id }, name, range) as number);
}

function checked(
  source: string,
  fields: JsonFields,
  name: string,
  range: Parameters<typeof readNumber>[1],
): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  try {
    return readNumber(value as JsonValue, range);
  } catch (error) {
    throw new ModelFileError(source, `${name} ${(error as Error).message}`, { cause: error });
  }
}
