import { expect, test } from 'vitest';
import { messageFromFileError } from './file-error-message.ts';

test.each([
  ['ENOENT', 'does not exist'],
  ['EACCES', 'cannot be read: permission denied; check its owner and mode'],
  ['EMFILE', 'cannot be opened: too many open files; raise the limit (ulimit -n)'],
  ['ENOTDIR', 'has a parent that is not a folder'],
  ['EPERM', 'cannot be read: not permitted; check its owner and mode'],
  ['EISDIR', 'is a folder, not a file'],
  ['EWHAT', 'cannot be read: it broke'],
])('%s is reported as "%s"', (code, text) => {
  expect(messageFromFileError(Object.assign(new Error('it broke'), { code }))).toBe(text);
});

test('a failed write is reported as such', () => {
  const denied = Object.assign(new Error('it broke'), { code: 'EACCES' });
  expect(messageFromFileError(denied, 'written')).toBe(
    'cannot be written: permission denied; check its owner and mode',
  );
});

test('what is not an error is reported as it is', () => {
  expect(messageFromFileError('odd')).toBe('cannot be read: odd');
});
