/** One exported name, one thing: a search for it finds one declaration. Re-exports and generated files do not count. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { exportPattern, listFiles, root } from './source-files.ts';

const folders = ['packages', 'tests', 'bench', 'zoo'];
const generatedPattern = /_pb\.ts$|\/proto\/generated\//;

/** Every file that declares and exports the name. */
function declarations(files: ReadonlyMap<string, string>): ReadonlyMap<string, ReadonlySet<string>> {
  const byName = new Map<string, Set<string>>();
  for (const [path, text] of files) {
    for (const [, , name] of text.matchAll(exportPattern)) {
      const paths = byName.get(name as string) ?? new Set();
      byName.set(name as string, paths.add(path));
    }
  }
  return byName;
}

function declaredTwice(files: ReadonlyMap<string, string>): readonly string[] {
  const found: string[] = [];
  for (const [name, paths] of declarations(files)) {
    if (paths.size > 1) found.push(`${name}: ${[...paths].join(', ')}`);
  }
  return found;
}

test('no exported name is declared in two files', () => {
  const files = new Map<string, string>();
  for (const absolute of folders.flatMap((folder) => listFiles(join(root, folder)))) {
    const path = relative(root, absolute).replaceAll('\\', '/');
    if (path.endsWith('.ts') && !generatedPattern.test(path)) files.set(path, readFileSync(absolute, 'utf8'));
  }
  expect(declarations(files).size).toBeGreaterThan(2000);
  expect(declaredTwice(files)).toEqual([]);
});

test('a type and a function of one name in two files are found, overloads in one file are not', () => {
  const files = new Map([
    ['a.ts', 'export interface Field {\n}\nexport function read(a: string): void;\nexport function read(): void {}\n'],
    ['b.ts', 'export async function Field() {}\nexport { read } from "./a.ts";\n'],
  ]);
  expect(declaredTwice(files)).toEqual(['Field: a.ts, b.ts']);
});

/** Words that GLOSSARY.md gives no meaning, by the table "Words with one meaning". */
const wordsWithoutMeaning = [...readFileSync(join(root, 'GLOSSARY.md'), 'utf8').matchAll(/^\| (\w+) \| none \|/gm)].map(
  ([, word]) => word as string,
);

test('no exported name has a word that the glossary takes out of use', () => {
  expect(wordsWithoutMeaning).toEqual(['stage', 'words', 'look', 'door']);
  const capital = (word: string): string => word[0]?.toUpperCase() + word.slice(1);
  const pattern = new RegExp(
    wordsWithoutMeaning.map((word) => `^${word}(?![a-z])|${capital(word)}s?(?![a-z])`).join('|'),
  );
  const found: string[] = [];
  for (const absolute of folders.flatMap((folder) => listFiles(join(root, folder)))) {
    if (!absolute.endsWith('.ts') || generatedPattern.test(absolute)) continue;
    for (const [, , name = ''] of readFileSync(absolute, 'utf8').matchAll(exportPattern)) {
      if (pattern.test(name)) found.push(`${name}: ${relative(root, absolute)}`);
    }
  }
  expect(found).toEqual([]);
});
