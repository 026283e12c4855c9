/**
 * Text to token ids by a tokenizer.json of Hugging Face's format with a WordPiece model: lower case, words and punctuation
 * split as BERT does, each word cut into the longest pieces of the vocabulary. Equal to the library that trained it
 * (golden-tokens.json); other kinds of tokenizer are refused.
 */
interface TokenizerFile {
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
  readonly normalizer: { readonly type: string };
  readonly pre_tokenizer: { readonly type: string };
  readonly model: {
    readonly type: string;
    readonly unk_token: string;
    readonly continuing_subword_prefix: string;
    readonly max_input_chars_per_word: number;
    readonly vocab: Readonly<Record<string, number>>;
  };
}

/** A mark of its own, or a run of what is neither a mark nor space. Symbols of ASCII count as punctuation. */
const wordPattern = /[\p{P}$+<=>^`|~]|[^\p{P}$+<=>^`|~\p{White_Space}]+/gu;

export function wordPieceTokenizer(json: string): (text: string) => readonly number[] {
  const file = JSON.parse(json) as TokenizerFile;
  const kinds = [file.normalizer.type, file.pre_tokenizer.type, file.model.type].join(', ');
  if (kinds !== 'Lowercase, BertPreTokenizer, WordPiece') throw new Error(`tokenizer.json has ${kinds}`);
  const pieces = new Map(Object.entries(file.model.vocab));
  const special = new Map(file.added_tokens.map(({ id, content }) => [content, id]));
  const specialPattern = new RegExp(`(${[...special.keys()].map(escaped).join('|')})`);

  return (text) =>
    text.split(specialPattern).flatMap((part) => {
      const id = special.get(part);
      if (id !== undefined) return [id];
      return (lowerCase(part).match(wordPattern) ?? []).flatMap((word) => piecesOf(word, pieces, file.model));
    });
}

/** Letter by letter: the rules that look at neighbours, as for the Greek sigma, are not applied in training either. */
function lowerCase(text: string): string {
  return Array.from(text, (character) => character.toLowerCase()).join('');
}

/** The longest piece first; a word with a part that no piece covers is unknown as a whole. */
function piecesOf(word: string, pieces: ReadonlyMap<string, number>, model: TokenizerFile['model']): number[] {
  const unknown = [pieces.get(model.unk_token) as number];
  const characters = Array.from(word);
  if (characters.length > model.max_input_chars_per_word) return unknown;
  const ids: number[] = [];
  let start = 0;
  while (start < characters.length) {
    const prefix = start === 0 ? '' : model.continuing_subword_prefix;
    let end = characters.length;
    let id: number | undefined;
    for (; end > start; end--) {
      id = pieces.get(prefix + characters.slice(start, end).join(''));
      if (id !== undefined) break;
    }
    if (id === undefined) return unknown;
    ids.push(id);
    start = end;
  }
  return ids;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
