import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  byteFallbackJson,
  metaspaceJson,
  storytellerJson,
  withoutDecoderJson,
  wordPieceJson,
  wordSuffixJson,
} from './testing/small-tokenizers.ts';
import { readTokenDecoders, TokenTextDecoder } from './text-decoder.ts';
import { TextTokenizer } from './tokenizer.ts';

const storyteller = new TextTokenizer(storytellerJson());
const byteFallback = new TextTokenizer(byteFallbackJson);
const metaspace = new TextTokenizer(metaspaceJson);
const wordPiece = new TextTokenizer(wordPieceJson);
const wordSuffix = new TextTokenizer(wordSuffixJson);

function partsOf(tokenizer: TextTokenizer, ids: readonly number[], prompt: readonly number[] = []): string[] {
  const decoder = new TokenTextDecoder(tokenizer, prompt);
  return [...ids.map((id) => decoder.push(id)), decoder.end()];
}

function idsOf(tokenizer: TextTokenizer, tokens: readonly string[]): number[] {
  return tokens.map((token) => {
    const id = tokenizer.takeId(token);
    if (id === undefined) throw new Error(`no token ${token}`);
    return id;
  });
}

const kinds = {
  storyteller,
  byteFallback,
  metaspace,
  wordPiece,
  wordSuffix,
  none: new TextTokenizer(withoutDecoderJson),
};

/** Decoders of whole sequences, by the definition of each kind and without its state. */
const wholes: Readonly<Record<keyof typeof kinds, (tokens: readonly string[]) => string>> = {
  storyteller: (tokens) =>
    new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(tokens.join(''), byteOf)),
  byteFallback: (tokens) => {
    const runOf = (run: string): string => charactersOf(Buffer.from(run.replaceAll(/<0x|>/g, ''), 'hex'));
    return tokens
      .join('')
      .replaceAll(/(?:<0x..>)+/g, runOf)
      .replaceAll('▁', ' ')
      .replace(/^ /, '');
  },
  metaspace: ([first = '', ...others]) => first.replaceAll('▁', '') + others.join('').replaceAll('▁', ' '),
  wordPiece: (tokens) => {
    return tokens
      .map((token, index) => (index === 0 ? token : token.startsWith('##') ? token.slice(2) : ` ${token}`))
      .map((text) => text.replace(/^ (\.|,|n't)/, '$1'))
      .join('');
  },
  wordSuffix: (tokens) =>
    tokens
      .join('')
      .replace(/<\/w>$/, '')
      .replaceAll('</w>', ' '),
  none: (tokens) => tokens.join(' '),
};

function byteOf(sign: string): number {
  const printable = Array.from({ length: 256 }, (_, byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173));
  const moved = printable.flatMap((isPrintable, byte) => (isPrintable ? [] : [byte]));
  const code = sign.charCodeAt(0);
  return code < 256 ? code : (moved[code - 256] as number);
}

/** Whole characters, and U+FFFD for every byte that belongs to none. */
function charactersOf(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const character = [1, 2, 3, 4].map((length) => decoded(bytes.subarray(at, at + length))).find((one) => one !== '');
    text += character ?? '\ufffd';
    at += character === undefined ? 1 : Buffer.byteLength(character);
  }
  return text;
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return '';
  }
}

describe.each(Object.keys(kinds) as (keyof typeof kinds)[])('%s', (kind) => {
  const tokenizer = kinds[kind];
  const anyIds = fc.array(fc.nat(tokenizer.vocabularySize + 1), { maxLength: 40 });

  test('the parts of any sequence make the text of the whole', () => {
    fc.assert(
      fc.property(anyIds, (ids) => {
        const tokens = ids.map((id) => tokenizer.takeToken(id)).filter((token) => token !== undefined);
        expect(partsOf(tokenizer, ids).join('')).toBe(wholes[kind](tokens));
      }),
      { seed: 1, numRuns: 400 },
    );
  });

  test('no part ends within a character, and the same ids give the same parts again', () => {
    fc.assert(
      fc.property(anyIds, (ids) => {
        const parts = partsOf(tokenizer, ids);
        for (const part of parts) expect(part).not.toMatch(/\p{Surrogate}/u);
        expect(partsOf(tokenizer, ids)).toEqual(parts);
      }),
      { seed: 1 },
    );
  });
});

test('a character of several byte tokens comes with the last of them', () => {
  const ids = idsOf(byteFallback, ['▁the', '<0xE6>', '<0xB0>', '<0xB4>', 'a']);
  expect(partsOf(byteFallback, ids)).toEqual(['the', '', '', '水', 'a', '']);
  const stories = storyteller.encode('水', false);
  expect(stories.length).toBe(3);
  expect(partsOf(storyteller, stories)).toEqual(['', '', '水', '']);
});

test('an unfinished character is held back, and released at the end as U+FFFD', () => {
  expect(partsOf(byteFallback, idsOf(byteFallback, ['<0xE6>', '<0xB0>']))).toEqual(['', '', '\ufffd\ufffd']);
  expect(partsOf(storyteller, storyteller.encode('水', false).slice(0, 2))).toEqual(['', '', '\ufffd']);
});

test('special tokens give no text', () => {
  expect(partsOf(byteFallback, idsOf(byteFallback, ['<s>', '▁the', '</s>']))).toEqual(['', 'the', '', '']);
});

test('the first space is that of the tokenizer at the beginning of a text, and of the text after a prompt', () => {
  const [the, fox] = idsOf(metaspace, ['▁the', '▁fox']) as [number, number];
  expect(partsOf(metaspace, [the, fox])).toEqual(['the', ' fox', '']);
  expect(partsOf(metaspace, [fox], [the])).toEqual([' fox', '']);
  expect(partsOf(metaspace, [fox], idsOf(metaspace, ['</s>']))).toEqual(['fox', '']);
  expect(partsOf(byteFallback, idsOf(byteFallback, ['▁the']), idsOf(byteFallback, ['▁a']))).toEqual([' the', '']);
});

test('a character that the prompt left unfinished comes with the output', () => {
  const [first = 0, ...others] = storyteller.encode('水', false);
  expect(partsOf(storyteller, others, [first])).toEqual(['', '水', '']);
});

test('the space of a word suffix comes when a token follows', () => {
  expect(partsOf(wordSuffix, idsOf(wordSuffix, ['fox', 'es</w>', 'a</w>']))).toEqual(['fox', 'es', ' a', '']);
});

test.each([
  [{ type: 'CTC', pad_token: '<pad>' }, 'decoder CTC is not of a known kind'],
  [{ type: 'Replace', pattern: { Regex: 'a+' }, content: '' }, 'has a pattern that is not a plain string'],
  [{ type: 'Sequence', decoders: [{ type: 'Fuse' }, { type: 'WordPiece' }] }, 'stands after one that joins tokens'],
  [
    { type: 'Sequence', decoders: [{ type: 'Fuse' }, { type: 'Strip', content: ' ', start: 0, stop: 1 }] },
    'strips the end',
  ],
  [
    { type: 'Sequence', decoders: [{ type: 'Fuse' }, { type: 'Replace', pattern: { String: 'ab' }, content: '' }] },
    'replaces across tokens',
  ],
])('decoder %j is refused by name', (config, reason) => {
  expect(() => readTokenDecoders('tokenizer.json', config)).toThrow(reason);
});

test('strips the ends of tokens that are not fused', () => {
  const makers = readTokenDecoders('tokenizer.json', { type: 'Strip', content: '_', start: 1, stop: 2 });
  const decoder = new TokenTextDecoder({ decoders: makers, takeToken: () => '__a___' }, []);
  expect([decoder.push(0), decoder.push(0)]).toEqual(['_a_', '_a_']);
});
