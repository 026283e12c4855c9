/** Whether the bundle of the programs may be run: in a checkout the compiler may have run after it was made. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The folder of the bundle, or undefined when there is none or it is older than what the compiler wrote last. The
 * compiler's notes that tell are in no published package, so an installed bundle is always current.
 */
export function takeCurrentBundle(packageFolder: string): string | undefined {
  const bundle = join(packageFolder, 'bundle');
  const bundledMs = takeWrittenMs(join(bundle, 'command.js'));
  if (bundledMs === undefined) return undefined;
  const isCheckout = takeWrittenMs(join(packageFolder, 'dist', compilerNotes)) !== undefined;
  return isCheckout && newestCompileMs(join(packageFolder, '..')) > bundledMs ? undefined : bundle;
}

const compilerNotes = 'tsconfig.tsbuildinfo';

function newestCompileMs(packagesFolder: string): number {
  const written = readdirSync(packagesFolder).map((name) =>
    takeWrittenMs(join(packagesFolder, name, 'dist', compilerNotes)),
  );
  return Math.max(...written.map((ms) => ms ?? 0));
}

function takeWrittenMs(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
