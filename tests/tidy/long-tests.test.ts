/** Every test file is in `npm test`, in `npm run test:long`, or in both; the lists of `tests/long-tests.ts` say which. */
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { leftOutOfShort, shortenedFiles } from '../long-tests.ts';
import { listFiles, root } from './source-files.ts';

const leftOut = Object.keys(leftOutOfShort);

/** The test files that ask whether the run is long. */
function filesThatAsk(): readonly string[] {
  return ['packages', 'bench', 'tests']
    .flatMap((folder) => listFiles(join(root, folder)))
    .filter((path) => path.endsWith('.test.ts') && path !== import.meta.filename)
    .filter((path) => /\bTEST_LONG\b|\bisLong\b/.test(readFileSync(path, 'utf8')))
    .map((path) => relative(root, path));
}

test('the files that repeat less often in npm test are those that ask whether the run is long', () => {
  expect(filesThatAsk().toSorted()).toEqual(shortenedFiles.toSorted());
});

test('every file that npm test leaves out is there, and so is one beside it that npm test runs', () => {
  const stayed = Object.values(leftOutOfShort);
  expect([...leftOut, ...stayed].filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(stayed.filter((path) => leftOut.includes(path))).toEqual([]);
});
