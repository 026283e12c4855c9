import { defineConfig } from 'vitest/config';

const shared = {
  resolve: { conditions: ['millrace-source', 'node'] },
  ssr: { resolve: { conditions: ['millrace-source', 'node'] } },
};

/** Databases that a process opens once. */
const processWide = 'packages/store/src/lmdb/*.test.ts';

export default defineConfig({
  test: {
    // Left to itself it keeps a core free, which is half of a small machine; and much of what servers do in tests is wait.
    maxWorkers: '200%',
    projects: [
      // Limits that a busy machine does not meet: they are there to end what hangs.
      // What holds nothing that one test could leave behind for another shares a process, and its start.
      {
        ...shared,
        test: {
          name: 'unit',
          include: ['{packages/*,bench}/src/**/*.test.ts', 'scripts/**/*.test.mjs'],
          exclude: [processWide],
          isolate: false,
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        ...shared,
        test: { name: 'process', include: [processWide], testTimeout: 30_000, hookTimeout: 30_000 },
      },
      { ...shared, test: { name: 'tidy', include: ['tests/tidy/**/*.test.ts'], isolate: false } },
      {
        ...shared,
        test: {
          name: 'integration',
          include: ['tests/{attacks,contracts,end-to-end,simulation,chaos,ways}/**/*.test.ts'],
          // What they try to break are processes of their own; to import the whole server for each file takes longer than most tests.
          isolate: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
