import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './source-files.ts';

test('the lock file records no download addresses', () => {
  const lock = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');
  expect(lock).not.toContain('"resolved": "http');
});

test('npm knows every setting of this project, so that no command begins with a warning', () => {
  // Settings of the machine are left out: an empty file stands for the user's.
  const args = ['config', 'get', 'ignore-scripts', '--userconfig', '/dev/null'];
  const { stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8', env: withoutNpmSettings() });
  expect(stdout).toBe('true\n');
  expect(stderr).not.toContain('Unknown project config');
});

/** npm passes its settings on to what it runs, these tests among it. */
function withoutNpmSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')));
}

test('millrace depends on what the programs in its bundle import, in the versions of their packages', () => {
  const { workspaces = [] } = manifestIn('');
  const bundled = manifestIn('packages/millrace').dependencies;
  const elsewhere = workspaces.flatMap((workspace) =>
    Object.entries(manifestIn(workspace).dependencies ?? {}).filter(([name]) => !name.startsWith('@millrace/')),
  );
  expect(elsewhere.length).toBeGreaterThan(5);
  for (const [name, version] of elsewhere) expect(bundled?.[name], name).toBe(version);
});

interface Manifest {
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;
}
