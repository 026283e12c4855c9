/** Finds what is exported for nobody: a name that no other file imports is private to its file, or is not needed. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { exportPattern, listFiles, root, sourceFiles } from './source-files.ts';

interface ExportedName {
  readonly path: string;
  readonly name: string;
  /** A type may be exported for a signature beside it, although nobody has to write its name. */
  readonly isInSignature: boolean;
}

/** What programs of others import: every name behind these entry points counts as used. */
const publicEntryPoints = [
  'packages/client/src/index.ts',
  'packages/client/src/node.ts',
  'packages/client/src/public.ts',
  'packages/client/src/transports/grpc/index.ts',
  'packages/millrace/src/index.ts',
  'packages/millrace/src/pipeline.ts',
];

const listPattern = /(?:^|\n)\s*(import|export)\s+(?:type\s+)?(?:\w+\s*,\s*)?\{([^}]*)\}\s*from\s*['"]([^'"]+)['"]/g;
const starPattern = /(?:^|\n)\s*import\s+\*\s+as\s+(\w+)\s+from\s*['"]([^'"]+)['"]/g;
const dynamicPattern = /\{([^{}]*)\}\s*=\s*await\s+import\(\s*['"]([^'"]+)['"]/g;

function exportedNames(path: string, text: string): readonly ExportedName[] {
  return [...text.matchAll(exportPattern)].map(([, kind, name]) => ({
    path,
    name: name as string,
    isInSignature: (kind === 'type' || kind === 'interface') && wordsIn(text, name as string) > 1,
  }));
}

function wordsIn(text: string, word: string): number {
  return text.match(new RegExp(`\\b${word.replaceAll('$', '\\$')}\\b`, 'g'))?.length ?? 0;
}

/** `file name` for imports of files, `package name` for imports of packages. */
function importedNames(path: string, text: string): readonly string[] {
  const used: string[] = [];
  const add = (specifier: string, name: string): void => {
    const from = specifier.startsWith('.') ? relative(root, join(root, dirname(path), specifier)) : specifier;
    used.push(`${/^@millrace\/[^/]+/.exec(from)?.[0] ?? from} ${name}`);
  };
  const addList = (names: string, specifier: string): void => {
    for (const part of names.split(',')) {
      const name = /^(?:type\s+)?([\w$]+)/.exec(part.trim())?.[1];
      if (name !== undefined) add(specifier, name);
    }
  };
  for (const [, word, names, specifier] of text.matchAll(listPattern)) {
    // An entry point that passes a name on does not use it.
    if (word === 'import' || publicEntryPoints.includes(path)) addList(names as string, specifier as string);
  }
  for (const [, names, specifier] of text.matchAll(dynamicPattern)) addList(names as string, specifier as string);
  for (const [, alias, specifier] of text.matchAll(starPattern)) {
    for (const [, name] of text.matchAll(new RegExp(`\\b${alias}\\.([\\w$]+)`, 'g'))) {
      add(specifier as string, name as string);
    }
  }
  return used;
}

function unusedIn(
  files: readonly { readonly path: string; readonly text: string }[],
  exported: readonly ExportedName[],
): readonly string[] {
  const used = new Set(files.flatMap(({ path, text }) => importedNames(path, text)));
  const packageOf = (path: string): string => `@millrace/${path.split('/')[1]}`;
  return exported
    .filter(({ path, name, isInSignature }) => {
      return !isInSignature && !used.has(`${path} ${name}`) && !used.has(`${packageOf(path)} ${name}`);
    })
    .map(({ path, name }) => `${path}: ${name} is exported, and no other file imports it`);
}

/** All of them that could import: sources, tests, benches and what makes models. */
const importers = ['packages', 'tests', 'bench', 'zoo', 'models']
  .flatMap((folder) => listFiles(join(root, folder)))
  .filter((path) => /\.(m?ts|tsx|m?js)$/.test(path))
  .map((path) => ({ path: relative(root, path).replaceAll('\\', '/'), text: readFileSync(path, 'utf8') }));

const entryPointFiles = new Set(
  publicEntryPoints.flatMap((entryPoint) =>
    [...readFileSync(join(root, entryPoint), 'utf8').matchAll(/export \* from '\.\/([^']+)'/g)].map(([, file]) =>
      join(dirname(entryPoint), file as string),
    ),
  ),
);

const exportedBySources = sourceFiles()
  .filter(({ path, isTest }) => !isTest && !path.includes('/generated/') && !entryPointFiles.has(path))
  .flatMap(({ path, text }) => exportedNames(path, text));

test('every exported name is imported by another file', () => {
  expect(exportedBySources.length).toBeGreaterThan(1500);
  expect(unusedIn(importers, exportedBySources)).toEqual([]);
});

test('a name that only its own file and an entry point mention is found', () => {
  const planted = exportedNames(
    'packages/core/src/planted.ts',
    'export const planted = 1;\nexport interface PlantedParts {\n}\nexport function plant(parts: PlantedParts) {}\n',
  );
  const entryPoint = { path: 'packages/core/src/index.ts', text: "\nexport { planted, plant } from './planted.ts';" };
  const user = { path: 'packages/router/src/user.ts', text: "\nimport { plant } from '@millrace/core';" };
  expect(unusedIn([entryPoint, user], planted)).toEqual([
    'packages/core/src/planted.ts: planted is exported, and no other file imports it',
  ]);
});
