import { expect, test } from 'vitest';
import { HeapRegion } from './heap-region.ts';

test('a region released twice is a defect that shows', () => {
  const region = new HeapRegion(new Uint8Array(8));
  region.release();
  expect(() => region.release()).toThrow('released twice');
});
