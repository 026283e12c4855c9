/** Text to token ids by tokenizer.json (Hugging Face's format), and what a token's text is. */
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceError } from '@millrace/protocol';
import { isJsonFields, type JsonFields, ModelFileError, parseJsonFile } from './model-file-error.ts';
import { readTokenDecoders, TokenTextDecoder, type TokenTexts } from './text-decoder.ts';
import { marksInARowMax, textCharactersMax } from './text-limit.ts';
import type { MakeTokenDecoder } from './token-decoders.ts';
import { correctedTokenizer } from './tokenizer-corrections.ts';

const file = 'tokenizer.json';

/** The normalizers that bring texts into a form of Unicode. */
const normalizing = /"(?:NFK?[CD]|BertNormalizer|Precompiled)"/;
/** Those that make up to 18 characters of one. */
const expanding = { NFKC: /"(?:NFKC|Precompiled)"/, NFKD: /"NFKD"/ };

export class TextTokenizer implements TokenTexts {
  readonly decoders: readonly MakeTokenDecoder[];
  /** One more than the highest id. */
  readonly vocabularySize: number;
  /** One more than the highest id of the tokens that were trained; added ones may lie above, and not every model knows them all. */
  readonly trainedVocabularySize: number;
  readonly #library: Tokenizer;
  readonly #specialIds: ReadonlySet<number>;
  readonly #charactersMax: number;
  readonly #isNormalizing: boolean;
  readonly #expandingForms: readonly ('NFKC' | 'NFKD')[];
  /** Characters of the longest token. */
  readonly #longestToken: number;

  constructor(json: string, charactersMax = textCharactersMax) {
    const fields = parseJsonFile(file, json);
    refuseUnsupported(fields);
    this.decoders = readTokenDecoders(file, fields.decoder);
    this.#charactersMax = charactersMax;
    const normalizer = JSON.stringify(fields.normalizer ?? null);
    this.#isNormalizing = normalizing.test(normalizer);
    this.#expandingForms = (['NFKC', 'NFKD'] as const).filter((form) => expanding[form].test(normalizer));
    try {
      this.#library = new Tokenizer(correctedTokenizer(fields), {});
    } catch (error) {
      throw new ModelFileError(file, `cannot be used (${(error as Error).message})`, { cause: error });
    }
    const added = [...this.#library.get_added_tokens_decoder().values()];
    this.#specialIds = new Set(added.filter(({ special }) => special).map(({ id }) => id));
    let highestId = -1;
    let longest = 1;
    for (const [token, id] of this.#library.get_vocab() as ReadonlyMap<string | undefined, number>) {
      // Ids that no token has lie between others.
      if (token === undefined) continue;
      highestId = Math.max(highestId, id);
      longest = Math.max(longest, token.length);
    }
    this.vocabularySize = highestId + 1;
    this.trainedVocabularySize = trainedVocabularySizeOf(fields);
    this.#longestToken = longest;
  }

  /**
   * Special tokens that the text spells out (`<|end|>`) become those tokens, which chat templates need.
   *
   * @param isFramed with the tokens that the tokenizer puts around a text, such as one for its beginning; a chat template writes them
   * itself
   * @param tokensMax of the model: a text that cannot have so few is refused before its tokens are looked for, which takes long and
   * would delay the texts beside it. One that consists mostly of characters that the tokenizer leaves out, such as spaces, is refused too.
   */
  encode(text: string, isFramed: boolean, tokensMax: number = Number.POSITIVE_INFINITY): readonly number[] {
    if (text.length > tokensMax * this.#longestToken) {
      throw new InferenceError(
        'request-too-large',
        `the text has ${text.length} characters, and the model takes ${tokensMax} tokens of at most ${this.#longestToken} characters; send a shorter text`,
      );
    }
    if (text.length > this.#charactersMax) {
      throw new InferenceError(
        'request-too-large',
        `the text has ${text.length} characters, more than ${this.#charactersMax}; send a shorter text`,
      );
    }
    if (this.#isNormalizing) refuseManyMarks(text);
    for (const form of this.#expandingForms) {
      const { length } = text.normalize(form);
      if (length > this.#charactersMax) {
        throw new InferenceError(
          'request-too-large',
          `the text has ${length} characters in the form ${form} that the tokenizer reads, more than ${this.#charactersMax}; send a shorter text`,
        );
      }
    }
    try {
      return this.#library.encode(text, { add_special_tokens: isFramed }).ids;
    } catch (error) {
      // The library passes the tokens of a word as arguments of a call, and a stack has room for some 100,000.
      if (!(error instanceof RangeError)) throw error;
      throw new InferenceError(
        'request-too-large',
        `the text has ${text.length} characters and too many tokens; send a shorter text`,
        { cause: error },
      );
    }
  }

  /** The whole text of some tokens. */
  decode(ids: readonly number[]): string {
    const decoder = new TokenTextDecoder(this, []);
    let text = '';
    for (const id of ids) text += decoder.push(id);
    return text + decoder.end();
  }

  takeToken(id: number): string | undefined {
    return this.#specialIds.has(id) ? undefined : this.#library.id_to_token(id);
  }

  /** The text of a token as it is spelled out in prompts, special ones included. */
  spelling(id: number): string {
    return this.#library.id_to_token(id) ?? '';
  }

  takeId(token: string): number | undefined {
    return this.#library.token_to_id(token);
  }
}

/** The last two are letters that compatibility forms make marks of. */
const mark = /[\p{M}\uff9e\uff9f]/u;
/** What normalizers may take out first, so that it separates no marks. */
const takenOut = /[\p{C}\ufffd]/u;

function refuseManyMarks(text: string): void {
  if (text.length <= marksInARowMax) return;
  let marks = 0;
  for (const character of text) {
    if ((character >= ' ' && character <= '~') || '\t\n\r'.includes(character)) marks = 0;
    else if (mark.test(character)) marks += 1;
    else if (!takenOut.test(character)) marks = 0;
    if (marks > marksInARowMax) {
      throw new InferenceError(
        'request-too-large',
        `the text has more than ${marksInARowMax} combining marks in a row, such as accents; send fewer on one character`,
      );
    }
  }
}

/** A map of tokens to ids, or of Unigram models a list. */
function trainedVocabularySizeOf({ model }: JsonFields): number {
  const vocabulary = isJsonFields(model) ? model.vocab : undefined;
  if (Array.isArray(vocabulary)) return vocabulary.length;
  let highestId = -1;
  for (const id of Object.values(isJsonFields(vocabulary) ? vocabulary : {})) {
    if (typeof id === 'number') highestId = Math.max(highestId, id);
  }
  return highestId + 1;
}

/** What the library reads and then leaves out, which would give other tokens than the model was trained with. */
function refuseUnsupported({ model }: JsonFields): void {
  if (!isJsonFields(model)) throw new ModelFileError(file, 'has no model');
  if (model.type === 'Unigram' && model.byte_fallback === true) {
    throw new ModelFileError(file, 'is a Unigram model with byte fallback, which is not supported; BPE with it is');
  }
}
