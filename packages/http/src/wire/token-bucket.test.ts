import { expect, test } from 'vitest';
import { TokenBucket } from './token-bucket.ts';

function spent(bucket: TokenBucket, nowMs: number): number {
  let count = 0;
  while (bucket.spend(nowMs)) count++;
  return count;
}

test('a burst is free, and after it a rate', () => {
  const bucket = new TokenBucket(10, 5, 0);
  expect(spent(bucket, 0)).toBe(10);
  bucket.refund(1);
  expect(spent(bucket, 2000)).toBe(10);
  bucket.refund(1);
  expect(spent(bucket, 3000)).toBe(5);
});

test('useful work earns tokens, never more than the burst', () => {
  const bucket = new TokenBucket(10, 1, 0);
  bucket.refund(100);
  expect(spent(bucket, 0)).toBe(10);
  bucket.refund(4);
  expect(spent(bucket, 0)).toBe(3);
});
