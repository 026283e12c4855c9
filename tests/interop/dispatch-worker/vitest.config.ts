/** Beside the tests of `npm test`, which need nothing but Node: these start a worker in Python. */
import { defineConfig } from 'vitest/config';

const conditions = ['millrace-source', 'node'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { include: ['tests/interop/dispatch-worker/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
});
