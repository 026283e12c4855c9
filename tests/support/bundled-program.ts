/** Bundles a program that a test starts many times: to find, read and link its modules is most of what a start takes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { repositoryRoot } from './repository-root.ts';

/** These find files by their own place, so they stay there. */
const placed: Plugin = {
  name: 'placed-modules',
  setup({ onResolve }) {
    onResolve({ filter: /\/(programs|version)\.js$/ }, ({ resolveDir, path }) => ({
      path: join(resolveDir, path),
      external: true,
    }));
  },
};

/** The path of the bundle of `tests/dist/NAME.js`, which must have been compiled. */
export async function bundledProgram(name: string): Promise<string> {
  const manifest = readFileSync(join(repositoryRoot, 'packages/millrace/package.json'), 'utf8');
  const { dependencies } = JSON.parse(manifest) as { dependencies: Readonly<Record<string, string>> };
  const outfile = join(repositoryRoot, 'tests/dist/bundled', `${name}.js`);
  await build({
    entryPoints: [join(repositoryRoot, 'tests/dist', `${name}.js`)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: Object.keys(dependencies).filter((dependency) => !dependency.startsWith('@millrace/')),
    plugins: [placed],
    logLevel: 'warning',
  });
  return outfile;
}
