import { expect, test } from 'vitest';
import { proportionalBytes, residentBytes } from './memory-watch.ts';

const mebibyte = 1024 * 1024;

test('resident pages are those that the process counts itself, and no fewer than its share of them', () => {
  const resident = residentBytes(process.pid) as number;
  expect(Math.abs(resident - process.memoryUsage.rss())).toBeLessThan(32 * mebibyte);
  expect((proportionalBytes(process.pid) as number) - resident).toBeLessThan(32 * mebibyte);
});

test('a process that is gone has no memory', () => {
  expect([residentBytes(2 ** 22 + 1), proportionalBytes(2 ** 22 + 1)]).toEqual([undefined, undefined]);
});
