import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { keptDescriptions } from './pipelines.ts';
import { ReadingCache } from './reading-cache.ts';

const root = mkdtempSync(join(tmpdir(), 'millrace-pipelines-'));
afterAll(() => rmSync(root, { recursive: true }));
const module = join(root, 'm/1/pipeline.ts');
let asked = 0;

beforeEach(() => {
  asked = 0;
  mkdirSync(join(root, 'm/1'), { recursive: true });
  writeFileSync(module, 'one');
});

function described(maxBatchSize: number) {
  return async () => {
    asked += 1;
    return { description: { maxBatchSize } };
  };
}

test('a pipeline is asked once for each state of its folder, by all processes', async () => {
  const cache = new ReadingCache({ folder: undefined, code: 'a' });
  expect(await keptDescriptions(described(1), cache)(module)).toEqual({ description: { maxBatchSize: 1 } });
  expect(await keptDescriptions(described(2), cache)(module)).toEqual({ description: { maxBatchSize: 1 } });
  expect(asked).toBe(1);
  // A module that it imports, beside its version.
  writeFileSync(join(root, 'm/helper.ts'), 'helper');
  expect(await keptDescriptions(described(3), cache)(module)).toEqual({ description: { maxBatchSize: 3 } });
  expect(asked).toBe(2);
});

test('a problem is not kept, and neither is what was said while files changed', async () => {
  const cache = new ReadingCache({ folder: undefined, code: 'a' });
  expect(await keptDescriptions(async () => ({ problem: 'it failed' }), cache)(module)).toEqual({
    problem: 'it failed',
  });
  const describe = described(1);
  await keptDescriptions(async () => {
    writeFileSync(module, 'another one');
    return describe();
  }, cache)(module);
  expect(await keptDescriptions(described(2), cache)(module)).toEqual({ description: { maxBatchSize: 2 } });
});
