/**
 * Text to token ids and back by a tokenizer.json of Hugging Face's format with byte-level byte pairs (as GPT-2 has them). Equal
 * to the library that trained it (golden-tokens.json); other kinds of tokenizer are refused.
 */
interface TokenizerFile {
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
  readonly normalizer: unknown;
  readonly pre_tokenizer: { readonly type: string; readonly add_prefix_space: boolean; readonly use_regex: boolean };
  readonly model: {
    readonly type: string;
    readonly vocab: Readonly<Record<string, number>>;
    readonly merges: readonly (readonly [left: string, right: string])[];
  };
}

export interface BytePairTokenizer {
  encode(text: string): readonly number[];
  decode(ids: readonly number[]): string;
}

/** Contractions, words, numbers and runs of other signs with the space before them, and white space. */
const wordPattern =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

export function bytePairTokenizer(json: string): BytePairTokenizer {
  const { added_tokens, normalizer, pre_tokenizer, model } = JSON.parse(json) as TokenizerFile;
  const isKnown = normalizer === null && pre_tokenizer.type === 'ByteLevel' && model.type === 'BPE';
  if (!isKnown || pre_tokenizer.add_prefix_space || !pre_tokenizer.use_regex) {
    throw new Error('tokenizer.json is not a byte-level BPE tokenizer without prefix space');
  }
  const ids = new Map(Object.entries(model.vocab));
  const ranks = new Map(model.merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
  const special = new Map(added_tokens.map(({ id, content }) => [content, id]));
  const specialPattern = new RegExp(`(${[...special.keys()].map(escaped).join('|')})`);
  const bytesOf = new Map([...ids].map(([piece, id]) => [id, Uint8Array.from(piece, byteOf)]));
  for (const id of special.values()) bytesOf.set(id, new Uint8Array());

  const idsOfWord = (word: string): number[] => {
    const signs = Array.from(new TextEncoder().encode(word), (byte) => signOfByte[byte] as string);
    return merged(signs, ranks).map((piece) => ids.get(piece) as number);
  };
  return {
    encode: (text) =>
      text.split(specialPattern).flatMap((part) => {
        const id = special.get(part);
        return id === undefined ? (part.match(wordPattern) ?? []).flatMap(idsOfWord) : [id];
      }),
    decode: (tokens) => new TextDecoder().decode(Buffer.concat(tokens.map((id) => bytesOf.get(id) as Uint8Array))),
  };
}

/** The pair that was learned first is joined first, until none is left. */
function merged(signs: string[], ranks: ReadonlyMap<string, number>): string[] {
  for (;;) {
    let best = Number.POSITIVE_INFINITY;
    let at = -1;
    for (let index = 0; index + 1 < signs.length; index++) {
      const rank = ranks.get(`${signs[index]} ${signs[index + 1]}`) ?? Number.POSITIVE_INFINITY;
      if (rank < best) [best, at] = [rank, index];
    }
    if (at < 0) return signs;
    signs.splice(at, 2, `${signs[at]}${signs[at + 1]}`);
  }
}

/** A visible sign for each byte: itself where it is printable, otherwise one from U+0100 on. */
const signOfByte: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte).reduce<string[]>((signs, byte) => {
  const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const moved = signs.filter((sign) => sign >= '\u0100').length;
  signs.push(String.fromCharCode(isPrintable ? byte : 256 + moved));
  return signs;
}, []);
const byteOfSign = new Map(signOfByte.map((sign, byte) => [sign, byte]));

function byteOf(sign: string): number {
  return byteOfSign.get(sign) ?? 0;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
