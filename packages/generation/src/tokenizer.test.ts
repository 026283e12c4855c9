import { InferenceError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { ModelFileError } from './model-file-error.ts';
import { byteFallbackJson, storytellerJson, wordPieceJson } from './testing/small-tokenizers.ts';
import { marksInARowMax, textCharactersMax } from './text-limit.ts';
import { TextTokenizer } from './tokenizer.ts';

const storyteller = new TextTokenizer(storytellerJson());

test('text becomes ids and text again', () => {
  const text = 'Once upon a time, in the café by the 水車, a fox 😀 slept.\n\n  Then…\u0085\ufeff!';
  const ids = storyteller.encode(text, true);
  expect(storyteller.decode(ids)).toBe(text);
  expect(Math.max(...ids)).toBeLessThan(storyteller.vocabularySize);
  expect(storyteller.vocabularySize).toBe(2048);
});

test('white space is that of Unicode, not of JavaScript', () => {
  const spelled = JSON.parse(storytellerJson()) as { model: { vocab: Record<string, number>; merges: string[][] } };
  // U+FEFF is no white space, so it stays with the sign before it; the pair is learned here.
  const signs = ['!', 'ï', '»', '¿'];
  for (let length = 2; length <= 4; length++) {
    const [left, right] = [signs.slice(0, length - 1).join(''), signs[length - 1] as string];
    spelled.model.merges.push([left, right]);
    spelled.model.vocab[left + right] = 2046 + length;
  }
  expect(new TextTokenizer(JSON.stringify(spelled)).encode('!\ufeff', false)).toEqual([2050]);
});

test('special tokens in a text are those tokens, and have no text', () => {
  const ids = storyteller.encode('a<|end|>b', false);
  expect(ids).toContain(storyteller.takeId('<|end|>'));
  expect(storyteller.decode(ids)).toBe('ab');
  expect(storyteller.takeToken(0)).toBeUndefined();
  expect(storyteller.takeToken(999_999)).toBeUndefined();
});

test('between the ids of tokens there may be some that no token has', () => {
  const spelled = JSON.parse(storytellerJson()) as { added_tokens: object[] };
  const added = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: false };
  spelled.added_tokens.push({ ...added, id: 2100, content: '<tool>' });
  const sparse = new TextTokenizer(JSON.stringify(spelled));
  expect(sparse.vocabularySize).toBe(2101);
  expect(sparse.trainedVocabularySize).toBe(2048);
  expect(sparse.encode('<tool>', false)).toEqual([2100]);
  expect(sparse.decode([2100, 2050])).toBe('<tool>');
  expect(sparse.takeToken(2050)).toBeUndefined();
});

test('the empty text has no tokens, and no tokens are the empty text', () => {
  expect(storyteller.encode('', false)).toEqual([]);
  expect(storyteller.decode([])).toBe('');
});

test('characters outside of the vocabulary are bytes', () => {
  const tokenizer = new TextTokenizer(byteFallbackJson);
  expect(tokenizer.decode(tokenizer.encode('水', false))).toBe('水');
});

test('a text that is too long is refused before it is read', () => {
  const small = new TextTokenizer(wordPieceJson, 10);
  expect(() => small.encode('the fox fox', true)).toThrow(
    'the text has 11 characters, more than 10; send a shorter text',
  );
  expect(() => storyteller.encode('a'.repeat(textCharactersMax + 1), true)).toThrow('more than 400000');
});

describe('many combining marks on one character', () => {
  const normalizer = (value: object): TextTokenizer =>
    new TextTokenizer(JSON.stringify({ ...JSON.parse(storytellerJson()), normalizer: value }));
  const nested = { type: 'Sequence', normalizers: [{ type: 'NFKD' }, { type: 'StripAccents' }] };
  const most = '\u0323\u0301'.repeat(marksInARowMax / 2);

  test.each([
    ['NFC', { type: 'NFC' }, `a${most}\u0301`],
    ['in a sequence', nested, `a${most}\u0301`],
    ['letters that become marks', nested, '\u0323\uff9e'.repeat(marksInARowMax)],
    ['beside characters that are taken out', { type: 'BertNormalizer' }, '\u0323\u00ad\u0301\0'.repeat(marksInARowMax)],
  ])('are refused: %s', (_, config, text) => {
    expect(() => normalizer(config).encode(text, false)).toThrow('more than 128 combining marks in a row');
  });

  test('are refused before they are sorted', () => {
    const text = '\u0323\u0301'.repeat(textCharactersMax / 2);
    expect(() => normalizer({ type: 'NFC' }).encode(text, false)).toThrow(InferenceError);
  }, 2000);

  test('are read where they are few enough, or in no form of Unicode', () => {
    expect(normalizer({ type: 'NFC' }).encode(`a${most}b${most}\nc`, false).length).toBeGreaterThan(marksInARowMax);
    expect(storyteller.encode(`a${most}${most}`, false).length).toBeGreaterThan(marksInARowMax);
  });
});

test.each([
  ['NFKC', { type: 'NFKC' }],
  ['NFKD', { type: 'Sequence', normalizers: [{ type: 'NFKD' }] }],
])('a text that is too long in the form %s is refused before its tokens are looked for', (form, normalizer) => {
  const tokenizer = new TextTokenizer(JSON.stringify({ ...JSON.parse(storytellerJson()), normalizer }));
  expect(() => tokenizer.encode('\ufdfa'.repeat(textCharactersMax / 10), false)).toThrow(
    `the text has 720000 characters in the form ${form} that the tokenizer reads, more than 400000; send a shorter text`,
  );
});

test.each([
  ['not JSON', '{', 'tokenizer.json: is not JSON'],
  ['a list', '[]', 'tokenizer.json: holds no JSON object'],
  ['without a model', '{"decoder": null}', 'tokenizer.json: has no model'],
  [
    'Unigram with byte fallback',
    '{"model": {"type": "Unigram", "byte_fallback": true, "vocab": []}}',
    'tokenizer.json: is a Unigram model with byte fallback',
  ],
  ['without parts', '{"model": {"type": "BPE", "vocab": {}, "merges": []}}', 'tokenizer.json: cannot be used'],
])('%s is refused', (_, json, message) => {
  expect(() => new TextTokenizer(json)).toThrow(ModelFileError);
  expect(() => new TextTokenizer(json)).toThrow(message);
});

test('a text that cannot have as few tokens as the model takes is refused before its tokens are looked for', () => {
  // The longest token of the storyteller has 12 characters.
  expect(() => storyteller.encode('a'.repeat(121), false, 10)).toThrow(
    'the text has 121 characters, and the model takes 10 tokens of at most 12 characters; send a shorter text',
  );
  expect(storyteller.encode('a'.repeat(120), false, 10).length).toBeGreaterThan(10);
});
