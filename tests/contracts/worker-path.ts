import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The worker that hears by the event loop: built, for a process of its own cannot run from source on every supported Node. */
export function mustFindEventWorker(): string {
  return mustFindBuilt('tests/dist/support/event-worker.js');
}

/** The one whose engine leaves some outputs unwritten. */
export function mustFindSilentWorker(): string {
  return mustFindBuilt('tests/dist/support/silent-worker.js');
}

/** The one that speaks the versions its environment names. */
export function mustFindVersionedWorker(): string {
  return mustFindBuilt('tests/dist/support/versioned-worker.js');
}

function mustFindBuilt(path: string): string {
  // Tests run from source and from dist, which lies one folder deeper.
  for (const root of ['../../', '../../../']) {
    const found = fileURLToPath(new URL(`${root}${path}`, import.meta.url));
    if (existsSync(found)) return found;
  }
  throw new Error(`${path} is missing: run \`npm run build\` first`);
}
