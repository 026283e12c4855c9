import { expect, test } from 'vitest';
import { chooseCoding } from './accept-encoding.ts';

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['gzip, deflate', 'gzip'],
  ['deflate, gzip, br, zstd', 'gzip'],
  ['gzip;q=0.5, deflate;q=0.8', 'deflate'],
  ['gzip ; q=0.5 , deflate ; q=0.5', 'gzip'],
  ['gzip;q=0', 'identity'],
  ['gzip;q=0, deflate;q=0.001', 'deflate'],
  ['identity;q=1, gzip;q=0.5', 'identity'],
  ['identity;q=0.5, gzip;q=1', 'gzip'],
  ['identity, gzip', 'gzip'],
  ['br', 'identity'],
  ['*', 'gzip'],
  ['*;q=0', 'identity'],
  ['gzip;q=0, *', 'deflate'],
  ['gzip;q=nonsense', 'identity'],
  ['gzip;q=2', 'identity'],
  ['gzip;level=9', 'gzip'],
  [';;;,,=', 'identity'],
])('%j gets %s', (field, coding) => {
  expect(chooseCoding(field)).toBe(coding);
});
