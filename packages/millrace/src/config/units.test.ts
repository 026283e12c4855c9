import { expect, test } from 'vitest';
import { formatBytes, takeBytes, takeSeconds } from './units.ts';

test.each([
  ['0', 0],
  ['1024', 1024],
  ['1KiB', 1024],
  ['64 MiB', 64 * 1024 * 1024],
  ['1.5gib', 1.5 * 1024 ** 3],
  ['2kB', 2000],
  ['3MB', 3e6],
  ['1GB', 1e9],
  ['7b', 7],
  ['1.5', undefined],
  ['-1', undefined],
  ['', undefined],
  ['1TiB', undefined],
  ['MiB', undefined],
  ['0x10', undefined],
  ['1e3', undefined],
  ['99999999999999999', undefined],
  ['1constructor', undefined],
])('%j is %s bytes', (text, bytes) => {
  expect(takeBytes(text)).toBe(bytes);
});

test.each([
  ['30', 30],
  ['0.5', 0.5],
  ['500ms', 0.5],
  ['2min', 120],
  ['2m', 120],
  ['1h', 3600],
  ['10 s', 10],
  ['10d', undefined],
  ['-1', undefined],
  ['soon', undefined],
])('%j is %s seconds', (text, seconds) => {
  expect(takeSeconds(text)).toBe(seconds);
});

test('bytes are shown in the largest unit that fits whole', () => {
  expect([0, 1000, 1024, 1536, 64 * 1024 ** 2, 2 * 1024 ** 3].map(formatBytes)).toEqual([
    '0',
    '1000',
    '1KiB',
    '1536',
    '64MiB',
    '2GiB',
  ]);
});
