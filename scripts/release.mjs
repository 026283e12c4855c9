// Makes a release: see RELEASING.md. Without --publish it does everything else and puts the files that it edited back.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkContents, checkInstalled, packWorkspaces } from '../tests/packed/packed.mjs';
import { cutChangelog, releasedVersions } from './release/changelog.mjs';
import { lockWithVersion, versionProblems, withVersion } from './release/manifests.mjs';
import { optionsFrom, usage } from './release/options.mjs';
import { versionToRelease } from './release/version.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const read = (path) => readFileSync(join(root, path), 'utf8');
const run = (command, ...args) => execFileSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
const step = (text) => console.log(`\n=== ${text}`);

class ReleaseError extends Error {}

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log(usage);
} else {
  // Ctrl-C ends the command that runs; the release then fails with it and puts the files back.
  process.on('SIGINT', () => undefined);
  try {
    await release(mustSucceed(optionsFrom(args, new Date().toISOString().slice(0, 10)), `\n\n${usage}`).options);
  } catch (error) {
    if (!(error instanceof ReleaseError) && error.status === undefined) throw error;
    console.error(`\nnot released: ${error.message}`);
    process.exitCode = 1;
  }
}

async function release(options) {
  const changes = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' });
  if (changes !== '')
    throw new ReleaseError(`the tree has uncommitted changes; commit or stash them first:\n${changes}`);

  const { workspaces, version: current } = JSON.parse(read('package.json'));
  const manifestPaths = ['package.json', ...workspaces.map((workspace) => `${workspace}/package.json`)];
  mustAgree(manifestPaths, current);
  const changelog = read('CHANGELOG.md');
  const { version } = mustSucceed(versionToRelease(options.wanted, current, releasedVersions(changelog)));
  const cut = mustSucceed(cutChangelog(changelog, version, options.date));

  const edited = new Map([...manifestPaths, 'package-lock.json', 'CHANGELOG.md'].map((path) => [path, read(path)]));
  let isCommitted = false;
  try {
    step(`version ${version} in ${edited.size} files`);
    writeVersion(workspaces, manifestPaths, version);
    writeFileSync(join(root, 'CHANGELOG.md'), cut.text);
    mustAgree(manifestPaths, version);

    step('build');
    // Build outputs of removed sources would be packed.
    for (const workspace of workspaces) rmSync(join(root, workspace, 'dist'), { recursive: true, force: true });
    run('npm', 'run', 'build');

    step(`checks: ${options.checks}`);
    if (options.checks === 'test') run('npm', 'test');
    if (options.checks === 'ci') run('bash', '.ci/run');

    const out = resolve(root, options.out ?? `.cache/release/${version}`);
    const tarballs = await packAndTry(out);
    step(`notes of ${version}`);
    console.log(cut.notes);
    if (!options.isPublished) {
      step(`dry run: ${version} can be released; nothing was published, and the edited files are as before`);
      return;
    }
    run('git', 'commit', '--quiet', '--message', `Release ${version}`, '--', ...edited.keys());
    isCommitted = true;
    run('git', 'tag', '--annotate', `v${version}`, '--message', `Millrace ${version}`);
    for (const { path } of tarballs) run('npm', 'publish', '--access', 'public', path);
    step(`${version} is published; push the commit and the tag v${version}`);
  } finally {
    if (!isCommitted) for (const [path, text] of edited) writeFileSync(join(root, path), text);
  }
}

function writeVersion(workspaces, manifestPaths, version) {
  const manifests = manifestPaths.map((path) => JSON.parse(read(path)));
  const names = new Set(manifests.map(({ name }) => name));
  for (const [index, path] of manifestPaths.entries()) writeJson(path, withVersion(manifests[index], names, version));
  writeJson('package-lock.json', lockWithVersion(JSON.parse(read('package-lock.json')), workspaces, names, version));
}

async function packAndTry(out) {
  step(`pack into ${out}`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const tarballs = packWorkspaces(root, out);
  const failures = [];
  const check = (sentence, isTrue) => {
    console.log(`${isTrue ? 'ok' : 'NOT OK'} ${sentence}`);
    if (!isTrue) failures.push(sentence);
  };
  checkContents(tarballs, check);
  step('install the tarballs into an empty folder and call a server there');
  await checkInstalled(root, tarballs, check);
  if (failures.length > 0) throw new ReleaseError(`checks of the packages failed: ${failures.join('; ')}`);

  const sums = tarballs.map(({ path }) => `${sha256(path)}  ${basename(path)}\n`).join('');
  const files = tarballs.flatMap(({ name, files }) => files.map((file) => `${name}/${file}\n`)).join('');
  writeFileSync(join(out, 'SHA256SUMS'), sums);
  writeFileSync(join(out, 'FILES'), files);
  step(`files, also in ${join(out, 'FILES')}`);
  process.stdout.write(files);
  step(`checksums, also in ${join(out, 'SHA256SUMS')}`);
  process.stdout.write(sums);
  return tarballs;
}

function mustAgree(manifestPaths, version) {
  const files = manifestPaths.map((path) => ({ path, manifest: JSON.parse(read(path)) }));
  const problems = versionProblems(files, version);
  if (problems.length > 0) throw new ReleaseError(`the packages disagree on the version:\n${problems.join('\n')}`);
}

function mustSucceed(result, hint = '') {
  if (result.problem !== undefined) throw new ReleaseError(result.problem + hint);
  return result;
}

function writeJson(path, value) {
  writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
