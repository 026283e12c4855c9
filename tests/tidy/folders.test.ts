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
  streams: ['model', 'data-plane'],
  management: ['model', 'catalogue', 'life-cycle', 'streams'],
  edges: ['proto', 'model', 'data-plane', 'catalogue', 'management', 'streams'],
  telemetry: ['model', 'data-plane', 'catalogue', 'life-cycle', 'streams', 'management'],
};

/** The same for the folders inside the life cycle; what lies beside them may import all of them, and they none of it. */
const lifeCycleArrows: Readonly<Record<string, readonly string[]>> = {
  reading: [],
  revisions: ['reading'],
  explicit: ['reading', 'revisions'],
};

const prefix = 'packages/router/src/';
const lifeCyclePrefix = `${prefix}life-cycle/`;
const router = sourceFiles().filter((file) => file.path.startsWith(prefix) && !file.isTest);

/** The folder below `base` that a file lies in; undefined: it lies beside the folders, as the entry points of the package do. */
function folderOf(path: string, base: string = prefix): string | undefined {
  const [folder, inside] = path.slice(base.length).split('/');
  return inside === undefined ? undefined : folder;
}

function problemsOf(files: readonly SourceFile[], arrows = folderArrows, base: string = prefix): readonly string[] {
  const problems: string[] = [];
  for (const file of files) {
    const folder = file.path.startsWith(base) ? folderOf(file.path, base) : undefined;
    if (folder === undefined) continue;
    for (const { file: target } of file.imports) {
      // What lies in the router outside of `base` is for the arrows above.
      if (target === undefined || (target.startsWith(prefix) && !target.startsWith(base))) continue;
      const other = folderOf(target, base);
      if (other === folder || (other !== undefined && arrows[folder]?.includes(other))) continue;
      problems.push(`${file.path}: ${folder} may not import ${other ?? target}`);
    }
  }
  return problems;
}

test.each([
  ['the router', folderArrows, prefix],
  ['the life cycle', lifeCycleArrows, lifeCyclePrefix],
])('the arrows of %s name every folder and lead one way', (_where, arrows, base) => {
  const files = router.filter(({ path }) => path.startsWith(base));
  const folders = new Set(files.map(({ path }) => folderOf(path, base)).filter((folder) => folder !== undefined));
  expect(new Set(Object.keys(arrows))).toEqual(folders);
  const seen = new Set<string>();
  for (const [folder, targets] of Object.entries(arrows)) {
    for (const target of targets) expect(seen, `${folder} stands above ${target}`).toContain(target);
    seen.add(folder);
  }
});

test('folders of the router import only what their arrows allow', () => {
  expect(problemsOf(router)).toEqual([]);
});

test('folders of the life cycle import only what their arrows allow', () => {
  expect(problemsOf(router, lifeCycleArrows, lifeCyclePrefix)).toEqual([]);
});

test('an import of what lies beside the folders of the life cycle is found', () => {
  const target = `${lifeCyclePrefix}model-library.ts`;
  const planted: SourceFile = {
    path: `${lifeCyclePrefix}revisions/planted.ts`,
    package: 'router',
    isTest: false,
    text: '',
    imports: [
      { specifier: '../model-library.ts', isTypeOnly: true, file: target },
      { specifier: '../explicit/pins.ts', isTypeOnly: true, file: `${lifeCyclePrefix}explicit/pins.ts` },
      { specifier: '../../model/model-view.ts', isTypeOnly: true, file: `${prefix}model/model-view.ts` },
    ],
  };
  expect(problemsOf([planted], lifeCycleArrows, lifeCyclePrefix)).toEqual([
    `${planted.path}: revisions may not import ${target}`,
    `${planted.path}: revisions may not import explicit`,
  ]);
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
