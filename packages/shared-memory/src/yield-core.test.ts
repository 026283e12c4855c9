import { expect, test } from 'vitest';
import { takeYieldCore } from './yield-core.ts';

test.runIf(process.platform === 'linux')('offers the core, and returns', () => {
  const yieldCore = takeYieldCore();
  expect(yieldCore).toBeDefined();
  for (let count = 0; count < 100; count++) yieldCore?.();
});
