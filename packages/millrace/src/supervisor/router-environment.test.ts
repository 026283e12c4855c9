import { expect, test } from 'vitest';
import { routerEnvironment } from './router-environment.ts';

test('a router gets the environment, and settings of the allocator where the operator made none', () => {
  expect(routerEnvironment({ HOME: '/root', MALLOC_TRIM_THRESHOLD_: '1' })).toEqual({
    HOME: '/root',
    MALLOC_MMAP_THRESHOLD_: '4194304',
    MALLOC_TRIM_THRESHOLD_: '1',
  });
});
