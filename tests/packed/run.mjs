// Packs every package, installs the tarballs into an empty folder elsewhere, serves a model there and calls it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkContents, checkInstalled, packWorkspaces } from './packed.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = mkdtempSync(join(tmpdir(), 'millrace-tarballs-'));
let passed = 0;
let failed = 0;
const check = (sentence, isTrue) => {
  console.log(`${isTrue ? 'ok' : 'NOT OK'} ${sentence}`);
  if (isTrue) passed += 1;
  else failed += 1;
};

try {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const tarballs = packWorkspaces(root, folder);
  check('every package packs', tarballs.length === workspaces.length);
  checkContents(tarballs, check);
  await checkInstalled(root, tarballs, check);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
