import { expect, test } from 'vitest';
import { cutChangelog, releasedVersions } from './changelog.mjs';
import { lockWithVersion, versionProblems, withVersion } from './manifests.mjs';
import { optionsFrom } from './options.mjs';
import { takeVersion, versionAfter, versionToRelease } from './version.mjs';

test('a version is three numbers without leading zeros', () => {
  expect(takeVersion('0.10.2')).toEqual([0, 10, 2]);
  for (const text of ['1.0', '1.0.0.0', 'v1.0.0', '01.0.0', '1.0.0-rc.1', '', ' 1.0.0'])
    expect(takeVersion(text), text).toBeUndefined();
});

test.each([
  ['0.1.9', 'patch', '0.1.10'],
  ['0.1.9', 'minor', '0.2.0'],
  ['0.9.4', 'major', '1.0.0'],
  ['1.2.3', 'minor', '1.3.0'],
])('after %s a %s release is %s', (version, step, next) => {
  expect(versionAfter(version, step)).toBe(next);
});

test('the first release is the version that the packages have', () => {
  expect(versionToRelease(undefined, '0.1.0', [])).toEqual({ version: '0.1.0' });
  expect(versionToRelease('0.1.0', '0.1.0', [])).toEqual({ version: '0.1.0' });
  expect(versionToRelease('minor', '0.1.0', []).problem).toContain('0.1.0 is the first');
});

test('a later release follows the newest one in the changelog by one step', () => {
  const released = ['0.2.0', '0.1.0'];
  expect(versionToRelease('patch', '0.2.0', released)).toEqual({ version: '0.2.1' });
  expect(versionToRelease('0.3.0', '0.2.0', released)).toEqual({ version: '0.3.0' });
  expect(versionToRelease('0.4.0', '0.2.0', released).problem).toContain('the next version is 0.2.1, 0.3.0, 1.0.0');
  expect(versionToRelease('0.1.1', '0.2.0', released).problem).toContain('does not follow 0.2.0');
  expect(versionToRelease(undefined, '0.2.0', released).problem).toContain('already released');
  expect(versionToRelease('next', '0.2.0', released).problem).toContain("'next' is not a version");
});

test('the changelog is cut below an empty section of what is unreleased', () => {
  const before = '# Changelog\n\n## Unreleased\n\n- Two.\n\n## 0.1.0 (2026-01-01)\n\n- One.\n';
  const { text, notes } = cutChangelog(before, '0.1.1', '2026-02-03');
  expect(text).toBe(
    '# Changelog\n\n## Unreleased\n\n## 0.1.1 (2026-02-03)\n\n- Two.\n\n## 0.1.0 (2026-01-01)\n\n- One.\n',
  );
  expect(notes).toBe('- Two.');
  expect(releasedVersions(text)).toEqual(['0.1.1', '0.1.0']);
});

test('the first section of a changelog may be its last', () => {
  const { text } = cutChangelog('# Changelog\n\n## Unreleased\n\nThe first.\n', '0.1.0', '2026-02-03');
  expect(text).toBe('# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-02-03)\n\nThe first.\n');
});

test('a changelog with nothing to release is refused', () => {
  expect(cutChangelog('# Changelog\n', '0.1.0', '2026-02-03').problem).toContain('## Unreleased');
  const cut = cutChangelog('# Changelog\n\n## Unreleased\n\nThe first.\n', '0.1.0', '2026-02-03');
  expect(cutChangelog(cut.text, '0.1.1', '2026-02-03').problem).toContain('no unreleased change');
});

const files = [
  { path: 'package.json', manifest: { name: 'workspace', version: '0.1.0' } },
  { path: 'a/package.json', manifest: { name: 'a', version: '0.1.0', dependencies: { zod: '4.6.7' } } },
  { path: 'b/package.json', manifest: { name: 'b', version: '0.1.0', dependencies: { a: '0.1.0', zod: '4.6.7' } } },
];

test('every version that differs is named with its file', () => {
  expect(versionProblems(files, '0.1.0')).toEqual([]);
  expect(versionProblems(files, '0.2.0')).toEqual([
    'package.json: version is 0.1.0, not 0.2.0',
    'a/package.json: version is 0.1.0, not 0.2.0',
    'b/package.json: version is 0.1.0, not 0.2.0',
    'b/package.json: depends on a 0.1.0, not 0.2.0',
  ]);
});

test('a new version is written to manifests and dependencies between workspaces, and to no other', () => {
  const names = new Set(['workspace', 'a', 'b']);
  const next = files.map(({ path, manifest }) => ({ path, manifest: withVersion(manifest, names, '0.2.0') }));
  expect(versionProblems(next, '0.2.0')).toEqual([]);
  expect(next[2]?.manifest.dependencies).toEqual({ a: '0.2.0', zod: '4.6.7' });
});

test('the lock file follows, and the packages of others in it stay', () => {
  const lock = {
    version: '0.1.0',
    packages: {
      '': { name: 'workspace', version: '0.1.0' },
      b: { name: 'b', version: '0.1.0', dependencies: { a: '0.1.0' } },
      'node_modules/zod': { version: '0.1.0' },
    },
  };
  expect(lockWithVersion(lock, ['b'], new Set(['workspace', 'a', 'b']), '0.2.0')).toEqual({
    version: '0.2.0',
    packages: {
      '': { name: 'workspace', version: '0.2.0' },
      b: { name: 'b', version: '0.2.0', dependencies: { a: '0.2.0' } },
      'node_modules/zod': { version: '0.1.0' },
    },
  });
});

test('nothing is published unless asked for, and never unchecked', () => {
  const today = '2026-02-03';
  expect(optionsFrom([], today)).toEqual({
    options: { wanted: undefined, checks: 'test', out: undefined, date: today, isPublished: false },
  });
  expect(optionsFrom(['--dry-run', 'minor', '--checks', 'none'], today).options).toMatchObject({
    wanted: 'minor',
    checks: 'none',
    isPublished: false,
  });
  expect(optionsFrom(['minor', '--publish'], today).options.isPublished).toBe(true);
  expect(optionsFrom(['--publish', '--checks', 'none'], today).problem).toContain('needs --checks test or ci');
  expect(optionsFrom(['--publish', '--dry-run'], today).problem).toContain('not both');
});

test.each([
  [['--checks', 'some'], "not 'some'"],
  [['--date', '2026-02-30'], "not '2026-02-30'"],
  [['--now'], '--now'],
  [['0.1.0', '0.2.0'], 'one version at a time'],
])('%s is refused with what is wrong', (args, problem) => {
  expect(optionsFrom(args, '2026-02-03').problem).toContain(problem);
});
