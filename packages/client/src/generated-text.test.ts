import { expect, test } from 'vitest';
import { generationParameters } from './generated-text.ts';

test('every option is sent under the name of the server', () => {
  const options = { maxTokens: 1, temperature: 0.2, topP: 0.3, topK: 4, seed: 5, stop: ['six'] };
  expect(generationParameters(options)).toEqual({
    max_tokens: 1,
    temperature: 0.2,
    top_p: 0.3,
    top_k: 4,
    seed: 5,
    stop: ['six'],
  });
});

test('what is not given is not sent, and 0 is given', () => {
  expect(generationParameters({})).toEqual({});
  expect(generationParameters({ temperature: 0, topK: 0, seed: 0, stop: 'end' })).toEqual({
    temperature: 0,
    top_k: 0,
    seed: 0,
    stop: 'end',
  });
});

test('parameters by the names of the server count more', () => {
  const parameters = { top_p: 0.9, min_p: 0.1 };
  expect(generationParameters({ topP: 0.3, topK: 4, parameters })).toEqual({ top_p: 0.9, top_k: 4, min_p: 0.1 });
});
