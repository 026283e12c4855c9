// Bundles the programs that a server consists of: to find, read and link a thousand modules is most of what a start takes Node.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { takeCurrentBundle } from '../packages/millrace/dist/current-bundle.js';
import { licencesOf } from './bundled-licences.mjs';

const packages = join(dirname(fileURLToPath(import.meta.url)), '../packages');
const millrace = join(packages, 'millrace');
const worker = join(packages, 'worker/dist');

if (process.argv.includes('--if-outdated') && takeCurrentBundle(millrace) !== undefined) process.exit(0);

const { dependencies } = JSON.parse(readFileSync(join(millrace, 'package.json'), 'utf8'));
const outdir = join(millrace, 'bundle');
/** Packages from elsewhere that every server loads and that are nothing but JavaScript. The others stay as they are installed. */
const bundled = ['@bufbuild/protobuf', 'pino', 'ws', 'zod'];

rmSync(outdir, { recursive: true, force: true });
const { metafile } = await build({
  // By the names that packages/millrace/src/programs.ts has for them.
  entryPoints: {
    command: join(millrace, 'dist/main.js'),
    router: join(millrace, 'dist/router-main.js'),
    worker: join(worker, 'main.js'),
    'pipeline-worker': join(worker, 'pipeline/main.js'),
    'generator-worker': join(worker, 'generation/main.js'),
    'attached-worker': join(worker, 'attached/attached-main.js'),
    'pipeline-describer': join(worker, 'pipeline/describe-main.js'),
    'row-analyst': join(worker, 'row-analyst-main.js'),
    // Found by packages/worker/src/pipeline/{load-module,module-hooks}.ts in their own folder.
    'module-hooks': join(worker, 'pipeline/module-hooks.js'),
    'pipeline-api': join(worker, 'pipeline/pipeline-api.js'),
  },
  outdir,
  bundle: true,
  // The programs have most modules in common, and what is imported late stays so.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: Object.keys(dependencies).filter((name) => !name.startsWith('@millrace/') && !bundled.includes(name)),
  // For the packages among them that are CommonJS.
  banner: {
    js: `import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);`,
  },
  metafile: true,
  logLevel: 'warning',
});

writeFileSync(join(outdir, 'LICENSES.txt'), licencesOf(metafile));
