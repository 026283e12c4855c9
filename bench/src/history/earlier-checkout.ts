/** A built checkout of an earlier commit, below `.cache` so that it is made once. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { isBuiltCheckout } from '../comparison/checkouts.ts';

export function git(root: string, ...gitArguments: readonly string[]): string {
  return execFileSync('git', gitArguments, { cwd: root, encoding: 'utf8' }).trim();
}

/** Of files that git knows or would add. */
export function hasChanges(root: string): boolean {
  return git(root, 'status', '--porcelain') !== '';
}

export interface EarlierCheckout {
  readonly folder: string;
  readonly commit: string;
}

/**
 * `wanted`: a folder with a built checkout, or anything that git takes for a commit. Without it the last commit where the work
 * tree has changes, otherwise the one before it.
 */
export function earlierCheckout(root: string, wanted: string | undefined): EarlierCheckout {
  if (wanted !== undefined && existsSync(wanted)) {
    const folder = resolve(wanted);
    if (!isBuiltCheckout(folder)) throw new Error(`${folder} is not built (npm ci && npm run build)`);
    return { folder, commit: git(folder, 'rev-parse', 'HEAD') };
  }
  const commit = git(root, 'rev-parse', '--verify', `${wanted ?? (hasChanges(root) ? 'HEAD' : 'HEAD~')}^{commit}`);
  const folder = join(root, '.cache/bench', commit);
  if (!isBuiltCheckout(folder)) build(root, commit, folder);
  return { folder, commit };
}

function build(root: string, commit: string, folder: string): void {
  console.log(`building ${commit.slice(0, 8)} in ${folder}`);
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const options = { cwd: unfinished, stdio: ['ignore', 'ignore', 'inherit'] as ['ignore', 'ignore', 'inherit'] };
  const archive = join(unfinished, 'archive.tar');
  git(root, 'archive', '--output', archive, commit);
  execFileSync('tar', ['-xf', archive], options);
  rmSync(archive);
  if (hasSameLock(root, unfinished)) linkModules(root, unfinished);
  else execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], options);
  execFileSync('npx', ['tsc', '-b', 'packages/millrace'], options);
  execFileSync(process.execPath, ['scripts/bundle.mjs'], options);
  // Renamed when it is complete, so that a build that was interrupted is begun again. Links inside are relative.
  renameSync(unfinished, folder);
}

function hasSameLock(root: string, folder: string): boolean {
  const [ours, theirs] = [root, folder].map((path) => readFileSync(join(path, 'package-lock.json'), 'utf8'));
  return ours === theirs;
}

/** The same packages of others as here; the links to the project's own packages, which are relative, lead into the folder. */
function linkModules(root: string, folder: string): void {
  mkdirSync(join(folder, 'node_modules'));
  for (const entry of readdirSync(join(root, 'node_modules'), { withFileTypes: true })) {
    const [from, to] = [root, folder].map((path) => join(path, 'node_modules', entry.name)) as [string, string];
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
    else if (entry.name === '@millrace') {
      mkdirSync(to);
      for (const name of readdirSync(from)) symlinkSync(readlinkSync(join(from, name)), join(to, name));
    } else symlinkSync(from, to);
  }
}
