import { expect, test } from 'vitest';
import { wordsFromFileError } from './file-system-words.ts';

test.each([
  ['ENOENT', 'does not exist'],
  ['EACCES', 'cannot be read: permission denied; check its owner and mode'],
  ['EMFILE', 'cannot be opened: too many open files; raise the limit (ulimit -n)'],
  ['ENOTDIR', 'leads through something that is not a folder'],
  ['EWHAT', 'cannot be read: it broke'],
])('%s is said as "%s"', (code, words) => {
  expect(wordsFromFileError(Object.assign(new Error('it broke'), { code }))).toBe(words);
});

test('what is not an error is said as it is', () => {
  expect(wordsFromFileError('odd')).toBe('cannot be read: odd');
});
