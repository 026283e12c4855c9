import { expect, test } from 'vitest';
import { routerEnvironment, routerFlags } from './router-environment.ts';

test('a router gets the environment, and settings of the allocator where the operator made none', () => {
  expect(routerEnvironment({ HOME: '/root', MALLOC_TRIM_THRESHOLD_: '1' })).toEqual({
    HOME: '/root',
    MALLOC_MMAP_THRESHOLD_: '4194304',
    MALLOC_TRIM_THRESHOLD_: '1',
  });
});

test.each([
  [1, 1],
  [2, 1],
  [3, 2],
  [5, 4],
  [64, 4],
])('with %i cores %i threads compile and collect beside the one that serves', (cores, threads) => {
  expect(routerFlags({}, cores)).toEqual(['--expose-gc', `--v8-pool-size=${threads}`]);
});

test('the operator may choose another number of threads', () => {
  expect(routerFlags({ NODE_OPTIONS: '--enable-source-maps --v8-pool-size=8' }, 2)).toEqual(['--expose-gc']);
});
