import { expect, test } from 'vitest';
import { didYouMean } from './suggest.ts';

const known = ['http-port', 'host'];

test('a suggestion is a question, shown as the caller shows names', () => {
  expect(didYouMean('hots', known, (name) => `--${name}`)).toBe(' Did you mean --host?');
});

test('there is no suggestion where no name is similar', () => {
  expect(didYouMean('completely-else', known)).toBe('');
});
