/** Tokenizers small enough to read, one of each kind, as the objects that tokenizer.json holds. */
import { readFileSync } from 'node:fs';

export function storytellerJson(): string {
  const url = new URL('../../../../models/storyteller/1/tokenizer.json', import.meta.url);
  return readFileSync(url, 'utf8');
}

const byteTokens = Array.from({ length: 256 }, (_, byte) => {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
});

const added = (id: number, content: string, special: boolean): object => {
  return { id, content, special, single_word: false, lstrip: false, rstrip: false, normalized: false };
};

function tokenizerJson(parts: {
  readonly model: object;
  readonly decoder: object | null;
  readonly special: number;
}): string {
  const { model, decoder, special } = parts;
  const vocabulary = Object.keys((model as { vocab: object }).vocab);
  const added_tokens = vocabulary.slice(0, special).map((content, id) => added(id, content, true));
  const none = { normalizer: null, pre_tokenizer: null, post_processor: null, truncation: null, padding: null };
  return JSON.stringify({ version: '1.0', ...none, added_tokens, decoder, model });
}

const idsOf = (tokens: readonly string[]): object => Object.fromEntries(tokens.map((token, id) => [token, id]));

/** As Llama 2: bytes for what the vocabulary lacks, and a space before the text. */
export const byteFallbackJson = tokenizerJson({
  special: 3,
  model: {
    type: 'BPE',
    unk_token: '<unk>',
    byte_fallback: true,
    fuse_unk: true,
    vocab: idsOf(['<unk>', '<s>', '</s>', ...byteTokens, '▁', 'a', 'b', '▁a', 'ab', '▁the', '▁▁', 'é', '.']),
    merges: [
      ['▁', 'a'],
      ['a', 'b'],
      ['▁', '▁'],
    ],
  },
  decoder: {
    type: 'Sequence',
    decoders: [
      { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
      { type: 'ByteFallback' },
      { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 },
    ],
  },
});

export const metaspaceJson = tokenizerJson({
  special: 1,
  model: { type: 'BPE', unk_token: null, vocab: idsOf(['</s>', '▁', '▁the', '▁fox', 's', '水', '.']), merges: [] },
  decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
});

export const wordPieceJson = tokenizerJson({
  special: 1,
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: idsOf(['[UNK]', 'the', 'fox', '##es', '.', ',', 'do', "n't"]),
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
});

export const wordSuffixJson = tokenizerJson({
  special: 1,
  model: {
    type: 'BPE',
    unk_token: '<unk>',
    end_of_word_suffix: '</w>',
    vocab: idsOf(['<unk>', 'fox', 'es</w>', 'a</w>']),
    merges: [],
  },
  decoder: { type: 'BPEDecoder', suffix: '</w>' },
});

export const withoutDecoderJson = tokenizerJson({
  special: 1,
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    vocab: idsOf(['[UNK]', 'one', 'two']),
  },
  decoder: null,
});
