import { expect, test } from 'vitest';
import type { ModelView } from '../model/model-view.ts';
import { generationOpeningOf } from './opening-record.ts';

const plain: ModelView = {
  name: 'm',
  version: '1',
  platform: '',
  inputs: [],
  outputs: [],
  isBatched: false,
  rowsMax: 1,
  labels: new Map(),
  config: {},
};
const generator: ModelView = {
  ...plain,
  isGenerator: true,
  generationBounds: {
    defaults: {
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
      repetitionPenalty: 1,
      maxTokens: undefined,
      eosTokenIds: [],
      bosTokenId: undefined,
      padTokenId: undefined,
    },
    limits: { vocabularySize: 8, outputTokensMax: 99 },
  },
};

test('a generator without a seed gets one, and the parameters of others are not looked at', () => {
  const { drawnSeed } = generationOpeningOf(generator, { temperature: 0.5 });
  expect(Number.isSafeInteger(drawnSeed)).toBe(true);
  expect(generationOpeningOf(generator, { seed: 3 })).toEqual({});
  expect(generationOpeningOf(plain, { temprature: 1 })).toEqual({});
});

test.each([
  [{ temprature: 1 }, /did you mean temperature/],
  [{ temperature: 'hot' }, /temperature is 'hot'/],
  [{ max_tokens: 100 }, /max_tokens is 100; send an integer from 1 to 99/],
  [{ logit_bias: { '8': 1 } }, /keys are token ids from 0 to 7/],
])('%j cannot open a stream of a generator', (parameters, message) => {
  expect(() => generationOpeningOf(generator, parameters)).toThrow(
    expect.objectContaining({ code: 'invalid-request', message: expect.stringMatching(message) }),
  );
});
