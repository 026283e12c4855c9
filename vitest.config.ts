import { defineConfig } from 'vitest/config';

const shared = {
  resolve: { conditions: ['millrace-source', 'node'] },
  ssr: { resolve: { conditions: ['millrace-source', 'node'] } },
};

const pure = 'packages/{protocol,core}/src/**/*.test.ts';

export default defineConfig({
  test: {
    // Left to itself it keeps a core free, which is half of a small machine.
    maxWorkers: '100%',
    projects: [
      // Decisions and codecs hold nothing that one test could leave behind for another: they share a process, and its start.
      {
        ...shared,
        test: { name: 'pure', include: [pure], isolate: false, testTimeout: 30_000 },
      },
      // A limit that a busy machine does not meet: it is there to end what hangs.
      {
        ...shared,
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts'],
          exclude: [pure],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      { ...shared, test: { name: 'tidy', include: ['tests/tidy/**/*.test.ts'] } },
      {
        ...shared,
        test: {
          name: 'integration',
          include: ['tests/{contracts,end-to-end,simulation,chaos}/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
