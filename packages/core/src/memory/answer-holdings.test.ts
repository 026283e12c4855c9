import { expect, test } from 'vitest';
import { AnswerHoldings, smallAnswerBytesMax } from './answer-holdings.ts';

const mebibyte = 1024 * 1024;

test('one answer of any size is taken while nothing is held', () => {
  const holdings = new AnswerHoldings(100 * mebibyte);
  expect(holdings.take('ann', 300 * mebibyte)).toBeUndefined();
  expect(holdings.take('bob', mebibyte)).toBe('server-full');
  holdings.giveBack('ann', 300 * mebibyte);
  expect(holdings.bytes).toBe(0);
  expect(holdings.take('bob', mebibyte)).toBeUndefined();
});

test('a caller takes no more while it leaves too little free, and others still do', () => {
  const holdings = new AnswerHoldings(100 * mebibyte);
  let taken = 0;
  while (holdings.take('ann', mebibyte) === undefined) taken += 1;
  expect(holdings.take('ann', mebibyte)).toBe('caller-full');
  // 39 x 100 > 61 x 61.
  expect(taken).toBe(39);
  expect(holdings.take('bob', mebibyte)).toBeUndefined();
  holdings.giveBack('ann', 2 * mebibyte);
  expect(holdings.take('ann', mebibyte)).toBeUndefined();
});

test('all callers together hold no more than there is, and requests without a caller have no share', () => {
  const holdings = new AnswerHoldings(100 * mebibyte);
  let taken = 0;
  while (holdings.take('', mebibyte) === undefined) taken += 1;
  expect(taken).toBe(100);
  expect(holdings.take('', mebibyte)).toBe('server-full');
});

test('small answers are always taken, and counted', () => {
  const holdings = new AnswerHoldings(mebibyte);
  for (let count = 0; count < 100; count++) expect(holdings.take('ann', smallAnswerBytesMax)).toBeUndefined();
  expect(holdings.bytes).toBe(100 * smallAnswerBytesMax);
  expect(holdings.take('bob', smallAnswerBytesMax + 1)).toBe('server-full');
});
