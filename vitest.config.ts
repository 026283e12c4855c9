import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const fromSource = {
  resolve: { conditions: ['millrace-source', 'node'] },
  ssr: { resolve: { conditions: ['millrace-source', 'node'] } },
};

/** To transform a thousand modules takes longer than most tests; Node imports them as they were built. */
const fromBuild = {
  globalSetup: 'tests/build.ts',
  server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
};

/** Every Node process reads the certificates it names before it does anything else, and tests call nobody but themselves. */
const env = { NODE_EXTRA_CA_CERTS: '' };

/** Databases that a process opens once. */
const processWide = 'packages/store/src/lmdb/*.test.ts';

export default defineConfig({
  test: {
    // Left to itself it keeps a core free, which is half of a small machine; and much of what servers do in tests is wait.
    // Not '200%': a percentage above 100 counts as 100.
    maxWorkers: 2 * availableParallelism(),
    projects: [
      // Limits that a busy machine does not meet: they are there to end what hangs.
      // What holds nothing that one test could leave behind for another shares a process, and its start.
      {
        ...fromSource,
        test: {
          name: 'unit',
          include: ['{packages/*,bench}/src/**/*.test.ts', 'scripts/**/*.test.mjs'],
          exclude: [processWide],
          env,
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        ...fromSource,
        test: { name: 'process', include: [processWide], env, testTimeout: 30_000, hookTimeout: 30_000 },
      },
      {
        test: {
          ...fromBuild,
          name: 'tidy',
          include: ['tests/tidy/**/*.test.ts'],
          isolate: false,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          ...fromBuild,
          name: 'integration',
          include: ['tests/{attacks,contracts,end-to-end,simulation,chaos,ways}/**/*.test.ts'],
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
