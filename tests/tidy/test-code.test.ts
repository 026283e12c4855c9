/** Test code lies in tests, benches and folders named testing: all else is shipped, and reached from a door of its package. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, type SourceFile, sourceFiles } from './source-files.ts';

const files = sourceFiles().filter(({ path }) => path.includes('/src/'));
const packages = new Set(files.map((file) => file.package));

/** The files behind what a package exports, without what it exports for tests, and the program. */
function doorsOf(name: string): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  const programs = name === 'millrace' ? ['packages/millrace/src/main.ts'] : [];
  const doors = Object.entries(manifest.exports)
    .filter(([door]) => door !== './testing')
    .map(([, target]) => (typeof target === 'string' ? target : target.default))
    .filter((target) => target.startsWith('./dist/'))
    .map((target) => target.replace('./dist/', `packages/${name}/src/`).replace(/\.js$/, '.ts'));
  return [...doors, ...programs];
}

function unreachedIn(sources: readonly SourceFile[], doors: readonly string[]): readonly string[] {
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const file = byPath.get(path);
    if (file === undefined || reached.has(path)) return;
    reached.add(path);
    for (const { file: target } of file.imports) if (target !== undefined) visit(target);
  };
  for (const door of doors) visit(door);
  return sources
    .filter(({ path, isTest }) => !isTest && !path.includes('/generated/') && !reached.has(path))
    .map(({ path }) => path);
}

const doors = [...packages].flatMap(doorsOf);

/** The double of the REST edge and the malformed requests lie beside its tests, and are kept out of what is shipped by name. */
const restTestCode = /^packages\/router\/src\/edges\/rest\/(echo-double\.ts$|malformed\/)/;

test('every door is a file', () => {
  expect(doors.length).toBeGreaterThan(packages.size);
  expect(doors.filter((door) => !existsSync(join(root, door)))).toEqual([]);
});

test('every source is reached from a door', () => {
  expect(unreachedIn(files, doors).filter((path) => !restTestCode.test(path))).toEqual([]);
});

test('a source that only a test imports is found', () => {
  const planted: SourceFile = {
    path: 'packages/core/src/planted.ts',
    package: 'core',
    isTest: false,
    text: '',
    imports: [],
  };
  expect(unreachedIn([...files, planted], doors)).toContain(planted.path);
});
