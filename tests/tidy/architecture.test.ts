/** Holds ARCHITECTURE.md to the tree: what it names is there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineNames } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { root, sourceFiles } from './source-files.ts';
import { pathsIn } from './written-ways.ts';

const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');

test('every path that is named exists', () => {
  const paths = pathsIn(text);
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('every seam names a file that states it and a suite that holds it', () => {
  const section = /## The seams\n([\s\S]*?)\n## /.exec(text)?.[1] ?? '';
  const rows = section.split('\n').filter((line) => line.includes('→'));
  expect(rows.length).toBeGreaterThan(8);
  for (const row of rows) {
    const [, name, statement = '', suite = ''] = row.split('|');
    expect(pathsIn(statement).length, `the file of ${name}`).toBeGreaterThan(0);
    expect(pathsIn(suite).length, `the suite of ${name}`).toBeGreaterThan(0);
  }
});

test('the table of packages has a row for each', () => {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { workspaces: string[] };
  for (const workspace of workspaces) expect(text).toMatch(new RegExp(`^\\| \`${workspace.slice(9)}\` \\|`, 'm'));
});

/** Where the code of an engine, or of the kind that it runs, may name it: its own folders. */
const ownFolders = /^packages\/(router\/src\/repository\/kinds|worker\/src\/[a-z]+)\/.*/;

test('whoever adds an engine or a kind finds every file that names one in "Where to add"', () => {
  const section = /## Where to add\n([\s\S]*)/.exec(text)?.[1] ?? '';
  const rows = section.split('\n').filter((line) => /^\| (an engine|a lane|a kind of model) \|/.test(line));
  expect(rows).toHaveLength(3);
  const listed = new Set(rows.flatMap(pathsIn));
  for (const name of engineNames) {
    const naming = sourceFiles().filter(({ isTest, text: code }) => !isTest && code.includes(`'${name}'`));
    const unlisted = naming.filter(({ path }) => !listed.has(path) && !(ownFolders.test(path) && !isRegistry(path)));
    expect(
      unlisted.map(({ path }) => path),
      name,
    ).toEqual([]);
    // The place that was forgotten: a worker that runs on its own has all engines.
    expect(naming.map(({ path }) => path)).toContain('packages/worker/src/attached/attached-main.ts');
  }
});

function isRegistry(path: string): boolean {
  return path.endsWith('-main.ts');
}
