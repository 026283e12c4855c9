import { expect, test } from 'vitest';
import { TokenHistory } from './token-history.ts';

test('counts outputs, and knows the tokens of the prompt without counting them', () => {
  const history = new TokenHistory([5, 5, 9]);
  for (const id of [9, 7, 7]) history.addOutput(id);
  const slots = Array.from({ length: history.size }, (_, slot) => [history.idAt(slot), history.outputCountAt(slot)]);
  expect(slots).toEqual([
    [5, 0],
    [9, 1],
    [7, 2],
  ]);
});

test('grows with the number of different tokens', () => {
  const history = new TokenHistory(Array.from({ length: 1000 }, (_, id) => id));
  for (let id = 500; id < 1500; id++) history.addOutput(id);
  expect(history.size).toBe(1500);
  expect([history.outputCountAt(499), history.outputCountAt(500), history.idAt(1499)]).toEqual([0, 1, 1499]);
});
