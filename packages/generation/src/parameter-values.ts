/** Reads the values of parameters. What is wrong is a RangeError whose message follows the parameter's name: `is 3, above 2`. */
import { type JsonValue, quote } from '@millrace/protocol';

export interface NumberRange {
  readonly least: number;
  readonly most: number;
  readonly isInteger: boolean;
  /** The least value itself is not allowed. */
  readonly isLeastExcluded?: boolean;
}

/** By the names that requests and generation_config.json have in common. */
export const numberRanges = {
  temperature: { least: 0, most: 100, isInteger: false },
  /** -1 for "no limit" is how vLLM's clients say it. */
  top_k: { least: -1, most: 2 ** 31 - 1, isInteger: true },
  top_p: { least: 0, most: 1, isInteger: false, isLeastExcluded: true },
  min_p: { least: 0, most: 1, isInteger: false },
  repetition_penalty: { least: 0, most: 100, isInteger: false, isLeastExcluded: true },
  presence_penalty: { least: -2, most: 2, isInteger: false },
  frequency_penalty: { least: -2, most: 2, isInteger: false },
} as const satisfies Record<string, NumberRange>;

const logitBiasMax = 100;
const logitBiasEntriesMax = 1024;
const stopStringsMax = 16;
const stopCharactersMax = 256;
const seedMax = 2n ** 64n - 1n;

export function readNumber(value: JsonValue, range: NumberRange): number {
  const { least, most, isInteger, isLeastExcluded = false } = range;
  const kind = isInteger ? 'an integer' : 'a number';
  const wanted = `send ${kind} ${isLeastExcluded ? 'above' : 'from'} ${least} ${isLeastExcluded ? 'and at most' : 'to'} ${most}`;
  if (typeof value !== 'number' && typeof value !== 'bigint') throw new RangeError(`is ${shown(value)}; ${wanted}`);
  const number = Number(value);
  const isInRange = number >= least && number <= most && !(isLeastExcluded && number === least);
  if (!isInRange || (isInteger && !Number.isInteger(number))) throw new RangeError(`is ${value}; ${wanted}`);
  return number;
}

export function readBoolean(value: JsonValue): boolean {
  if (typeof value !== 'boolean') throw new RangeError(`is ${shown(value)}; send true or false`);
  return value;
}

/** A number up to 2^53-1, beyond which JSON's numbers are not exact, or 64 bits as decimal digits. */
export function readSeed(value: JsonValue): bigint {
  const wanted = `send an integer from 0 to ${Number.MAX_SAFE_INTEGER}, or up to ${seedMax} as a string of digits`;
  if (typeof value === 'number' && (!Number.isSafeInteger(value) || value < 0)) {
    throw new RangeError(`is ${value}; ${wanted}`);
  }
  const isText = typeof value === 'string' && /^\d{1,20}$/.test(value);
  if (!isText && typeof value !== 'number' && typeof value !== 'bigint') {
    throw new RangeError(`is ${shown(value)}; ${wanted}`);
  }
  const seed = BigInt(value);
  if (seed < 0n || seed > seedMax) throw new RangeError(`is ${seed}; ${wanted}`);
  return seed;
}

/** One string or a list of them. */
export function readStop(value: JsonValue): readonly string[] {
  const list = Array.isArray(value) ? value : [value];
  if (list.length > stopStringsMax) throw new RangeError(`has ${list.length} strings; send at most ${stopStringsMax}`);
  return list.map((text) => {
    if (typeof text !== 'string') throw new RangeError(`has ${shown(text)}; send a string or a list of strings`);
    if (text === '') throw new RangeError('has an empty string, which every text contains; leave it out');
    if (text.length > stopCharactersMax) {
      throw new RangeError(`has a string of ${text.length} characters; send at most ${stopCharactersMax}`);
    }
    if (/\p{Surrogate}/u.test(text)) throw new RangeError(`has ${quote(text)}, which contains half a character`);
    return text;
  });
}

/** A map of token ids to biases; as JSON text too, since parameters of gRPC requests are plain values. */
export function readLogitBias(value: JsonValue, vocabularySize: number): ReadonlyMap<number, number> {
  const entries = typeof value === 'string' ? parsed(value) : value;
  if (typeof entries !== 'object' || entries === null || Array.isArray(entries)) {
    throw new RangeError(`is ${shown(value)}; send a map of token ids to biases, such as {"42": -100}`);
  }
  const names = Object.keys(entries);
  if (names.length > logitBiasEntriesMax) {
    throw new RangeError(`has ${names.length} entries; send at most ${logitBiasEntriesMax}`);
  }
  const biases = new Map<number, number>();
  for (const [name, bias] of Object.entries(entries)) {
    const id = Number(name);
    if (!/^\d{1,10}$/.test(name) || id >= vocabularySize) {
      throw new RangeError(`has the key ${quote(name)}; keys are token ids from 0 to ${vocabularySize - 1}`);
    }
    if (typeof bias !== 'number' || !(Math.abs(bias) <= logitBiasMax)) {
      throw new RangeError(`of token ${id} is ${shown(bias)}; send a number from -${logitBiasMax} to ${logitBiasMax}`);
    }
    biases.set(id, bias);
  }
  return biases;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** A value as it was sent, as far as a message needs it. */
function shown(value: JsonValue | undefined): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
