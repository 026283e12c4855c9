import { expect, test } from 'vitest';
import { didYouMean } from './suggest.ts';

const known = ['http-port', 'host'];

test('a suggestion is a question, shown as the caller shows names', () => {
  expect(didYouMean('hots', known, (name) => `--${name}`)).toBe(' Did you mean --host?');
});

test('nothing is said where no name is near', () => {
  expect(didYouMean('completely-else', known)).toBe('');
});
