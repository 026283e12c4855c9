import { defineConfig } from 'vitest/config';

const shared = {
  resolve: { conditions: ['millrace-source', 'node'] },
  ssr: { resolve: { conditions: ['millrace-source', 'node'] } },
};

export default defineConfig({
  test: {
    projects: [
      { ...shared, test: { name: 'unit', include: ['packages/*/src/**/*.test.ts'] } },
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
