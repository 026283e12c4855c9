/** Holds the files of the router to a size that can be read at once: a file that does more than one thing is split. */
import { expect, test } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

const linesMax = 350;
const importsMax = 15;

const prefix = 'packages/router/src/';

/** Entry points re-export names of other files, and generated files are not read; `-table.ts` marks files that are rows of data. */
function isExempt({ path, isTest }: SourceFile): boolean {
  return isTest || path.includes('/generated/') || path.endsWith('-table.ts') || entryPoints.has(path);
}

const entryPoints = new Set([`${prefix}index.ts`, `${prefix}internal.ts`, `${prefix}edges/index.ts`]);

function problemsOf(files: readonly SourceFile[]): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const file of files) {
    if (!file.path.startsWith(prefix) || isExempt(file)) continue;
    const lines = file.text.trimEnd().split('\n').length;
    const imports = new Set(file.imports.map(({ specifier }) => specifier)).size;
    if (lines <= linesMax && imports <= importsMax) continue;
    problems.set(
      file.path,
      `${lines} lines (at most ${linesMax}), ${imports} imports (at most ${importsMax}); split it by idea`,
    );
  }
  return problems;
}

test('no file of the router exceeds the limits of lines and imports', () => {
  expect([...problemsOf(sourceFiles())]).toEqual([]);
});

test('a file is found by one line or one import too many, unless it is a test or a table', () => {
  const fileOf = (name: string, lines: number, imports: number): SourceFile => ({
    path: `${prefix}planted/${name}`,
    package: 'router',
    isTest: name.endsWith('.test.ts'),
    text: 'x\n'.repeat(lines),
    imports: Array.from({ length: imports }, (_, index) => {
      return { specifier: `./${index}.ts`, isTypeOnly: true, file: undefined };
    }),
  });
  const planted = [
    fileOf('fits.ts', linesMax, importsMax),
    fileOf('long.ts', linesMax + 1, 0),
    fileOf('wide.ts', 1, importsMax + 1),
    fileOf('rows-table.ts', linesMax + 1, 0),
    fileOf('long.test.ts', linesMax + 1, 0),
  ];
  expect([...problemsOf(planted).keys()]).toEqual([`${prefix}planted/long.ts`, `${prefix}planted/wide.ts`]);
});
