/** Holds the folders of the router to the arrows of ARCHITECTURE.md. An import of a type ties two folders as much as any other. */
import { expect, test } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

/** Which folders of the router a folder may import; none of them may import one that stands below itself. */
const folderArrows: Readonly<Record<string, readonly string[]>> = {
  proto: [],
  model: [],
  repository: ['proto', 'model'],
  'data-plane': ['model'],
  dispatch: ['model', 'data-plane'],
  catalogue: ['model', 'data-plane'],
  'life-cycle': ['model', 'repository', 'data-plane', 'dispatch', 'catalogue'],
  management: ['model', 'catalogue', 'life-cycle'],
  edges: ['proto', 'model', 'data-plane', 'catalogue', 'management'],
  telemetry: ['model', 'data-plane', 'catalogue', 'life-cycle', 'management'],
};

const prefix = 'packages/router/src/';
const router = sourceFiles().filter((file) => file.path.startsWith(prefix) && !file.isTest);

/** The folder of the router that a file lies in; undefined: none, as for the doors of the package. */
function folderOf(path: string): string | undefined {
  const [folder, inside] = path.slice(prefix.length).split('/');
  return inside === undefined ? undefined : folder;
}

function problemsOf(files: readonly SourceFile[]): readonly string[] {
  const problems: string[] = [];
  for (const file of files) {
    const folder = folderOf(file.path);
    if (folder === undefined) continue;
    for (const { file: target } of file.imports) {
      if (target === undefined) continue;
      const other = folderOf(target);
      if (other === folder || (other !== undefined && folderArrows[folder]?.includes(other))) continue;
      problems.push(`${file.path}: ${folder} may not import ${other ?? target}`);
    }
  }
  return problems;
}

test('the arrows name every folder and lead one way', () => {
  const folders = new Set(router.map(({ path }) => folderOf(path)).filter((folder) => folder !== undefined));
  expect(new Set(Object.keys(folderArrows))).toEqual(folders);
  const seen = new Set<string>();
  for (const [folder, targets] of Object.entries(folderArrows)) {
    for (const target of targets) expect(seen, `${folder} stands above ${target}`).toContain(target);
    seen.add(folder);
  }
});

test('folders of the router import only what their arrows allow', () => {
  expect(problemsOf(router)).toEqual([]);
});

test('one import of a type against the arrows is found', () => {
  const planted: SourceFile = {
    path: `${prefix}data-plane/planted.ts`,
    package: 'router',
    isTest: false,
    text: '',
    imports: [
      { specifier: '../catalogue/catalogue.ts', isTypeOnly: true, file: `${prefix}catalogue/catalogue.ts` },
      { specifier: '../model/model-view.ts', isTypeOnly: true, file: `${prefix}model/model-view.ts` },
    ],
  };
  expect(problemsOf([...router, planted])).toEqual([`${planted.path}: data-plane may not import catalogue`]);
});
