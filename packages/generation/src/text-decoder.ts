/**
 * Tokens to text, as they come. What is passed on is never taken back, never ends within a character, and depends on the tokens so far
 * and nothing else: it can be made again from a journal that holds tokens only.
 *
 * Special tokens give no text. `clean_up_tokenization_spaces` of tokenizer_config.json is not applied: it would change what the model
 * wrote ("a , b" in code), and streaming servers do not apply it either.
 */
import { isJsonFields, ModelFileError } from './model-file-error.ts';
import {
  byteFallback,
  byteLevel,
  type MakeTokenDecoder,
  metaspace,
  replacing,
  spacesBetween,
  strippingEnd,
  strippingStart,
  type TokenDecoder,
  type TokenSink,
  wordPiece,
  wordSuffix,
} from './token-decoders.ts';

/** What a tokenizer knows about the text of its tokens. */
export interface TokenTexts {
  readonly decoders: readonly MakeTokenDecoder[];
  /** Undefined for special tokens and for ids that are no token: they give no text. */
  takeToken(id: number): string | undefined;
}

/**
 * How many tokens of the prompt are read: the rule for the space before the first token asks whether a token stood before, and a
 * character that the prompt left unfinished takes at most three.
 */
const promptTokensRead = 8;

export class TokenTextDecoder {
  readonly #texts: TokenTexts;
  readonly #decoders: readonly TokenDecoder[];
  #text = '';

  /** @param promptIds what stands before the output; its text is not passed on */
  constructor(texts: TokenTexts, promptIds: readonly number[]) {
    this.#texts = texts;
    const decoders: TokenDecoder[] = [];
    let next: TokenSink = (text) => {
      this.#text += text;
    };
    for (const make of texts.decoders.toReversed()) {
      const decoder = make(next);
      decoders.unshift(decoder);
      next = (token) => decoder.push(token);
    }
    this.#decoders = decoders;
    for (const id of promptIds.slice(-promptTokensRead)) this.push(id);
  }

  /** The text that this token completes; often empty. */
  push(id: number): string {
    const token = this.#texts.takeToken(id);
    if (token !== undefined) this.#decoders[0]?.push(token);
    return this.#taken();
  }

  /** What was held back: bytes of an unfinished character, as U+FFFD. */
  end(): string {
    for (const decoder of this.#decoders) decoder.end();
    return this.#taken();
  }

  #taken(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

/** Reads the field `decoder` of tokenizer.json. Throws for kinds that cannot be decoded token by token. */
export function readTokenDecoders(file: string, config: unknown): readonly MakeTokenDecoder[] {
  if (config === null || config === undefined) return [spacesBetween];
  const makers: MakeTokenDecoder[] = [];
  let passes: Passing = 'tokens';
  for (const part of partsOf(config)) {
    const [made, passesNow] = readPart(file, part, passes);
    makers.push(...made);
    passes = passesNow;
  }
  return makers.length === 0 ? [(next) => ({ push: next, end() {} })] : makers;
}

/** What a decoder passes on: whole tokens, characters of tokens, or a text in parts. */
type Passing = 'tokens' | 'characters' | 'text';

function partsOf(config: unknown): readonly unknown[] {
  if (!isJsonFields(config) || config.type !== 'Sequence') return [config];
  return Array.isArray(config.decoders) ? config.decoders.flatMap(partsOf) : [config];
}

function readPart(file: string, config: unknown, passes: Passing): readonly [readonly MakeTokenDecoder[], Passing] {
  const fields = isJsonFields(config) ? config : {};
  const { type } = fields;
  const refusal = (reason: string): ModelFileError =>
    new ModelFileError(file, `decoder ${String(type)} ${reason}, so text cannot be given token by token`);
  const text = (name: string, absent: string): string => (typeof fields[name] === 'string' ? fields[name] : absent);
  const count = (name: string): number => (typeof fields[name] === 'number' ? fields[name] : 0);
  if (type === 'Fuse') return [[], 'text'];
  if (type === 'Replace') {
    const pattern = isJsonFields(fields.pattern) ? fields.pattern.String : undefined;
    if (typeof pattern !== 'string') throw refusal('has a pattern that is not a plain string');
    if (passes !== 'tokens' && Array.from(pattern).length !== 1) throw refusal('replaces across tokens');
    return [[replacing(pattern, text('content', ''))], passes];
  }
  if (type === 'Strip' && passes !== 'characters') {
    if (passes === 'text' && count('stop') > 0) throw refusal('strips the end of the text');
    const start = strippingStart(text('content', ''), count('start'), passes === 'text');
    return [count('stop') > 0 ? [start, strippingEnd(text('content', ''), count('stop'))] : [start], passes];
  }
  if (passes !== 'tokens') throw refusal('stands after one that joins tokens');
  switch (type) {
    case 'ByteLevel':
      return [[byteLevel], 'text'];
    case 'ByteFallback':
      return [[byteFallback], 'characters'];
    case 'Metaspace': {
      const scheme = text('prepend_scheme', fields.add_prefix_space === false ? 'never' : 'always');
      return [[metaspace(text('replacement', '\u2581'), scheme !== 'never')], 'tokens'];
    }
    case 'WordPiece':
      return [[wordPiece(text('prefix', '##'), fields.cleanup !== false)], 'tokens'];
    case 'BPEDecoder':
      return [[wordSuffix(text('suffix', '</w>'))], 'tokens'];
    default:
      throw refusal(
        'is not of a known kind (known: ByteLevel, ByteFallback, Metaspace, WordPiece, BPEDecoder, Replace, Strip, Fuse)',
      );
  }
}
