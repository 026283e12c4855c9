import { expect, test } from 'vitest';
import { suggestionFor } from './suggestion.ts';

test.each([
  ['max_batchsize', ' (did you mean max_batch_size?)'],
  ['zebra', ''],
])('%s gets "%s"', (name, expected) => {
  expect(suggestionFor(name, ['max_batch_size', 'input'])).toBe(expected);
});
