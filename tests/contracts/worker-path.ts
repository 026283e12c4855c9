import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built worker: a process of its own cannot run from source on every supported Node. */
export function mustFindWorker(): string {
  // Tests run from source and from dist, which lies one folder deeper.
  for (const path of ['../../packages/worker/dist/main.js', '../../../packages/worker/dist/main.js']) {
    const found = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(found)) return found;
  }
  throw new Error('packages/worker/dist/main.js is missing: run `npm run build` first');
}
