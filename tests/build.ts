/** Before tests that run what is built: compiles and bundles what has changed since, which after `npm run build` is nothing. */
import { execFileSync } from 'node:child_process';
import { repositoryRoot } from './support/repository-root.ts';

export default function build(): void {
  const run = (...args: readonly string[]) =>
    execFileSync(process.execPath, args, { cwd: repositoryRoot, stdio: 'inherit' });
  run('node_modules/typescript/bin/tsc', '-b');
  run('scripts/bundle.mjs', '--if-outdated');
}
