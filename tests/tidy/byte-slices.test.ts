/** Holds every project to types/byte-slices.d.ts, with which the compiler refuses `slice` of bytes. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './source-files.ts';

const rule = 'types/byte-slices.d.ts';

test('every project of the workspace includes the rule', () => {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    references: { path: string }[];
  };
  const without = references
    .map(({ path }) => join(root, path, 'tsconfig.json'))
    .filter((file) => {
      const { include } = JSON.parse(readFileSync(file, 'utf8')) as { include: string[] };
      return !include.includes(relative(dirname(file), join(root, rule)));
    });
  expect(references.length).toBeGreaterThan(10);
  expect(without).toEqual([]);
});
