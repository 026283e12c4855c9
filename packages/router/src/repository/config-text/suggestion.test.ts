import { expect, test } from 'vitest';
import { suggestionFor } from './suggestion.ts';

const known = ['max_batch_size', 'input', 'output', 'instance_group', 'dims'];

test.each([
  ['max_batchsize', ' (did you mean max_batch_size?)'],
  ['MAX_BATCH_SIZE', ' (did you mean max_batch_size?)'],
  ['max-batch-size', ' (did you mean max_batch_size?)'],
  ['inputs', ' (did you mean input?)'],
  ['dmis', ' (did you mean dims?)'],
  ['instance_groups', ' (did you mean instance_group?)'],
  ['zebra', ''],
  ['', ''],
  ['x'.repeat(100_000), ''],
])('%.20s gets "%s"', (name, expected) => {
  expect(suggestionFor(name, known)).toBe(expected);
});
