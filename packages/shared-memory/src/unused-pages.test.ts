import { expect, test } from 'vitest';
import { bytesPerCheck, checksPerPeriod, UnusedPages } from './unused-pages.ts';

const page = 4096;

function pagesUnderTest(pageBytes = page) {
  const discarded: [from: number, end: number][] = [];
  const pages = new UnusedPages((offset, bytes) => discarded.push([offset, offset + bytes]), pageBytes);
  const check = (peak: number, times: number): void => {
    for (let count = 0; count < times; count++) pages.check(peak);
  };
  return { check, discarded };
}

test('what was not needed for a whole period goes, in whole pages, once', () => {
  const { check, discarded } = pagesUnderTest();
  check(10 * page - 1, 1);
  check(3 * page + 1, 2 * checksPerPeriod - 1);
  expect(discarded).toEqual([]);
  check(3 * page + 1, 1);
  expect(discarded).toEqual([[4 * page, 10 * page]]);
  check(3 * page + 1, 4 * checksPerPeriod);
  expect(discarded).toHaveLength(1);
});

test('pages of the system may be larger', () => {
  const { check, discarded } = pagesUnderTest(4 * page);
  check(10 * page, 1);
  check(3 * page + 1, 2 * checksPerPeriod);
  expect(discarded).toEqual([[4 * page, 12 * page]]);
});

test('what is needed in every period stays', () => {
  const { check, discarded } = pagesUnderTest();
  for (let period = 0; period < 5; period++) {
    check(100 * page, 1);
    check(0, checksPerPeriod - 1);
  }
  expect(discarded).toEqual([]);
});

test('what was given back and is needed again is given back again', () => {
  const { check, discarded } = pagesUnderTest();
  check(8 * page, 1);
  check(0, 3 * checksPerPeriod);
  check(8 * page, 1);
  check(0, 3 * checksPerPeriod);
  expect(discarded).toEqual([
    [0, 8 * page],
    [0, 8 * page],
  ]);
});

test('much memory goes in parts, the last part first', () => {
  const { check, discarded } = pagesUnderTest();
  check(2 * bytesPerCheck + page, 1);
  check(page, 4 * checksPerPeriod);
  expect(discarded).toEqual([
    [bytesPerCheck + page, 2 * bytesPerCheck + page],
    [page, bytesPerCheck + page],
  ]);
});
