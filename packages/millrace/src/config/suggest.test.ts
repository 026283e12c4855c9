import { expect, test } from 'vitest';
import { didYouMean, suggestionFor } from './suggest.ts';

const known = ['http-port', 'metrics-port', 'host', 'log-level', 'log-format'];

test.each([
  ['http-prot', 'http-port'],
  ['httpport', 'http-port'],
  ['HTTP_PORT', 'http-port'],
  ['hsot', 'host'],
  ['loglevle', 'log-level'],
  ['metric-port', 'metrics-port'],
  ['log-formatt', 'log-format'],
])('%s was meant to be %s', (written, meant) => {
  expect(suggestionFor(written, known)).toBe(meant);
});

test.each(['', 'x', 'ho', 'completely-else', 'port'])('nothing is suggested for %j', (written) => {
  expect(suggestionFor(written, known)).toBeUndefined();
  expect(didYouMean(written, known)).toBe('');
});

test('a suggestion is a question, shown as the caller shows names', () => {
  expect(didYouMean('hots', known, (name) => `--${name}`)).toBe(' Did you mean --host?');
});
