import { expect, test } from 'vitest';
import { headerSourceFrom, type WrittenHeaders } from './header-source.ts';

test.each<[string, WrittenHeaders]>([
  ['an object', { Authorization: 'Bearer a' }],
  ['pairs', [['Authorization', 'Bearer a']]],
  ['Headers', new Headers({ Authorization: 'Bearer a' })],
])('headers may be %s, or a function that gives it, at once or later', async (_, written) => {
  const expected = [['authorization', 'Bearer a']];
  expect(headerSourceFrom(written)?.()).toEqual(expected);
  expect(headerSourceFrom(() => written)?.()).toEqual(expected);
  expect(await headerSourceFrom(() => Promise.resolve(written))?.()).toEqual(expected);
});

test('a function may have none to give', async () => {
  expect(headerSourceFrom(() => undefined)?.()).toEqual([]);
  expect(await headerSourceFrom(() => Promise.resolve(undefined))?.()).toEqual([]);
});
