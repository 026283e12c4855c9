import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeCurrentBundle } from './current-bundle.ts';

let packages = '';
beforeEach(() => {
  packages = mkdtempSync(join(tmpdir(), 'millrace-bundle-'));
});
afterEach(() => rmSync(packages, { recursive: true }));

function write(path: string, seconds: number): void {
  const file = join(packages, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  utimesSync(file, seconds, seconds);
}

const takeBundle = () => takeCurrentBundle(join(packages, 'millrace'));

test('without a bundle there is none to run', () => {
  write('millrace/dist/main.js', 100);
  expect(takeBundle()).toBeUndefined();
});

test('an installed bundle is run whatever the times of files say', () => {
  write('millrace/bundle/command.js', 100);
  write('millrace/dist/main.js', 200);
  expect(takeBundle()).toBe(join(packages, 'millrace/bundle'));
});

test('in a checkout a bundle is run until a package is compiled after it was made', () => {
  write('millrace/dist/tsconfig.tsbuildinfo', 100);
  write('router/dist/tsconfig.tsbuildinfo', 150);
  write('millrace/bundle/command.js', 200);
  expect(takeBundle()).toBe(join(packages, 'millrace/bundle'));
  write('router/dist/tsconfig.tsbuildinfo', 250);
  expect(takeBundle()).toBeUndefined();
});
