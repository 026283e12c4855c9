import { expect, test } from 'vitest';
import { messageFromFileError } from './file-error-message.ts';

test.each([
  ['ENOENT', 'does not exist'],
  ['EACCES', 'cannot be read: permission denied; check its owner and mode'],
  ['EMFILE', 'cannot be opened: too many open files; raise the limit (ulimit -n)'],
  ['ENOTDIR', 'leads through something that is not a folder'],
  ['EPERM', 'cannot be read: not permitted; check its owner and mode'],
  ['EISDIR', 'is a folder, not a file'],
  ['EWHAT', 'cannot be read: it broke'],
])('%s is said as "%s"', (code, words) => {
  expect(messageFromFileError(Object.assign(new Error('it broke'), { code }))).toBe(words);
});

test('what could not be written is said so', () => {
  const denied = Object.assign(new Error('it broke'), { code: 'EACCES' });
  expect(messageFromFileError(denied, 'written')).toBe(
    'cannot be written: permission denied; check its owner and mode',
  );
});

test('what is not an error is said as it is', () => {
  expect(messageFromFileError('odd')).toBe('cannot be read: odd');
});
