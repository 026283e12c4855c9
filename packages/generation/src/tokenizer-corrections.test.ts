import { expect, test } from 'vitest';
import { correctedTokenizer } from './tokenizer-corrections.ts';

const byteLevel = { type: 'ByteLevel', add_prefix_space: false, use_regex: true };

test('patterns inside the library are written out, in sequences too', () => {
  const split = {
    type: 'Split',
    pattern: { Regex: expect.stringContaining('\\s+(?!\\S)') },
    behavior: 'Isolated',
    invert: false,
  };
  const expected = { type: 'Sequence', pretokenizers: [split, { ...byteLevel, use_regex: false }] };
  expect(correctedTokenizer({ pre_tokenizer: byteLevel }).pre_tokenizer).toEqual(expected);
  const sequence = { type: 'Sequence', pretokenizers: [{ type: 'Digits' }, byteLevel, { type: 'WhitespaceSplit' }] };
  expect(correctedTokenizer({ pre_tokenizer: sequence }).pre_tokenizer).toEqual({
    type: 'Sequence',
    pretokenizers: [
      { type: 'Digits' },
      ...expected.pretokenizers,
      { type: 'Split', pattern: { Regex: '\\s+' }, behavior: 'Removed', invert: false },
    ],
  });
});

test('sigma becomes small before a text is lowercased', () => {
  const sigma = { type: 'Replace', pattern: { String: 'Σ' }, content: 'σ' };
  for (const part of [{ type: 'Lowercase' }, { type: 'BertNormalizer', lowercase: true }]) {
    expect(correctedTokenizer({ normalizer: part }).normalizer).toEqual({
      type: 'Sequence',
      normalizers: [sigma, part],
    });
  }
});

test('everything else stays as it is', () => {
  const fields = {
    model: { type: 'BPE' },
    normalizer: { type: 'BertNormalizer', lowercase: false },
    pre_tokenizer: { ...byteLevel, use_regex: false },
  };
  expect(correctedTokenizer(fields)).toEqual(fields);
  expect(correctedTokenizer({ normalizer: null })).toEqual({ normalizer: null, pre_tokenizer: null });
});
