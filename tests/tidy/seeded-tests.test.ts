/** A test that fails must fail again: what is random in it comes from a seed that stands in its text. */
import { expect, test } from 'vitest';
import { sourceFiles } from './source-files.ts';

/** Where properties are checked without a seed, as `line: …`; the formatter gives a call that takes several lines an end of its own. */
function unseededIn(text: string): readonly string[] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    const indentation = /^(\s*)(?:await |return )?fc\.assert\(/.exec(line)?.[1];
    if (indentation === undefined) return [];
    const end = line.endsWith('(')
      ? lines.indexOf(`${indentation});`, at)
      : lines.findIndex((one, index) => index >= at && one.startsWith(indentation) && one.endsWith(');'));
    const options =
      lines
        .slice(Math.max(at, end - 6), end + 1)
        .join(' ')
        .split('{')
        .pop() ?? '';
    return /\bseed\b\s*[:,}]/.test(options) ? [] : [`line ${at + 1}: ${line.trim()}`];
  });
}

test('properties are checked with a seed', () => {
  const checked = sourceFiles().filter(({ isTest }) => isTest);
  expect(checked.filter(({ text }) => text.includes('fc.assert(')).length).toBeGreaterThan(40);
  expect(checked.flatMap(({ path, text }) => unseededIn(text).map((found) => `${path}, ${found}`))).toEqual([]);
});

test('a property without a seed is found', () => {
  const body = ['    fc.property(fc.integer(), (seed) => {', '      expect(seed).toBe(1);', '    }),'];
  const call = (...options: string[]): string => ['  fc.assert(', ...body, ...options, '  );'].join('\n');
  expect(unseededIn(call())).toHaveLength(1);
  expect(unseededIn(call('    { numRuns: 10 },'))).toHaveLength(1);
  expect(unseededIn(call('    { seed: 1, numRuns: 10 },'))).toEqual([]);
});
