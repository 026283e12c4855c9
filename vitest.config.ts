import { availableParallelism } from 'node:os';
import { dirname, relative, resolve } from 'node:path';
import { defineConfig, type Plugin } from 'vitest/config';
import { isLong, leftOutOfShort, shortenedFiles } from './tests/long-tests.ts';

/** To transform a thousand modules takes longer than most tests; Node imports them as they were built. */
const fromBuild = {
  server: { deps: { external: [/\/dist\//] } },
};

/** Tests beside the sources import them by relative paths; they get what was built of these sources. */
const builtSources: Plugin = {
  name: 'built-sources',
  enforce: 'pre',
  resolveId(imported, importer) {
    if (importer === undefined || !imported.startsWith('.')) return null;
    const source = relative(import.meta.dirname, resolve(dirname(importer), imported));
    const built = source.replace(/^(packages\/[^/]+|bench)\/src\/(.+)\.ts$/, '$1/dist/$2.js');
    return built === source ? null : resolve(import.meta.dirname, built);
  },
};

/** Every Node process reads the certificates it names before it does anything else, and tests call nobody but themselves. */
const env = { NODE_EXTRA_CA_CERTS: '' };

const setupFiles = ['tests/support/regular-last-stat.ts'];

/** Databases that a process opens once. */
const processWide = 'packages/store/src/lmdb/*.test.ts';

const leftOut = Object.keys(leftOutOfShort);

/** What a project includes and excludes. A long run has of the files below the folder those that have a long form. */
function filesOf(folder: string, include: string[], exclude: string[] = []): { include: string[]; exclude: string[] } {
  if (!isLong) return { include, exclude: [...exclude, ...leftOut] };
  return { include: [...leftOut, ...shortenedFiles].filter((file) => file.startsWith(folder)), exclude };
}

export default defineConfig({
  test: {
    globalSetup: 'tests/build.ts',
    // Left to itself it keeps a core free, which is half of a small machine; and much of what servers do in tests is wait.
    // Not '200%': a percentage above 100 counts as 100.
    maxWorkers: 2 * availableParallelism(),
    projects: [
      // Limits that a busy machine does not meet: they are there to end what hangs.
      // What holds nothing that one test could leave behind for another shares a process, and its start.
      {
        plugins: [builtSources],
        test: {
          ...fromBuild,
          setupFiles,
          name: 'unit',
          ...filesOf('packages/', ['{packages/*,bench}/src/**/*.test.ts', 'scripts/**/*.test.mjs'], [processWide]),
          env,
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        plugins: [builtSources],
        test: {
          ...fromBuild,
          setupFiles,
          name: 'process',
          ...filesOf('packages/store/', [processWide]),
          env,
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          ...fromBuild,
          setupFiles,
          name: 'tidy',
          ...filesOf('tests/tidy/', ['tests/tidy/**/*.test.ts']),
          isolate: false,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          ...fromBuild,
          setupFiles,
          name: 'integration',
          ...filesOf('tests/', ['tests/{attacks,contracts,end-to-end,simulation,chaos,ways}/**/*.test.ts']),
          env,
          // What they try to break are processes of their own.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
