import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('the lock file records no download addresses', () => {
  const lock = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');
  expect(lock).not.toContain('"resolved": "http');
});
