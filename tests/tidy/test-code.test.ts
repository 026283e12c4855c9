/** Test code is in tests, benches and folders named testing: all other code is shipped, and reached from an entry point of its package. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, type SourceFile, sourceFiles } from './source-files.ts';

const files = sourceFiles().filter(({ path }) => path.includes('/src/'));
const packages = new Set(files.map((file) => file.package));

/** Of an entry point: a file for each condition, such as `node`. */
interface Conditions {
  readonly [condition: string]: string | Conditions;
}

function filesIn(target: string | Conditions): readonly string[] {
  if (typeof target === 'string') return target.endsWith('.js') ? [target] : [];
  return Object.values(target).flatMap(filesIn);
}

/** The files behind what a package exports, without what it exports for tests, and the programs. */
function entryPointsOf(name: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string | Conditions>>;
  };
  const programs = name === 'millrace' ? ['main', 'router-main'].map((file) => `packages/millrace/src/${file}.ts`) : [];
  const entryPoints = Object.entries(manifest.exports)
    .filter(([entryPoint]) => entryPoint !== './testing')
    .flatMap(([, target]) => filesIn(target))
    .filter((target) => target.startsWith('./dist/'))
    .map((target) => target.replace('./dist/', `packages/${name}/src/`).replace(/\.js$/, '.ts'));
  return [...entryPoints, ...programs];
}

function unreachedIn(sources: readonly SourceFile[], entryPoints: readonly string[]): readonly string[] {
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const file = byPath.get(path);
    if (file === undefined || reached.has(path)) return;
    reached.add(path);
    for (const { file: target } of file.imports) if (target !== undefined) visit(target);
  };
  for (const entryPoint of entryPoints) visit(entryPoint);
  return sources
    .filter(({ path, isTest }) => !isTest && !path.includes('/generated/') && !reached.has(path))
    .map(({ path }) => path);
}

const entryPoints = [...packages].flatMap(entryPointsOf);

test('every entry point is a file', () => {
  expect(entryPoints.length).toBeGreaterThan(packages.size);
  expect(entryPoints.filter((entryPoint) => !existsSync(join(root, entryPoint)))).toEqual([]);
});

test('every source is reached from an entry point', () => {
  expect(unreachedIn(files, entryPoints)).toEqual([]);
});

test('a source that only a test imports is found', () => {
  const planted: SourceFile = {
    path: 'packages/core/src/planted.ts',
    package: 'core',
    isTest: false,
    text: '',
    imports: [],
  };
  expect(unreachedIn([...files, planted], entryPoints)).toContain(planted.path);
});
