/**
 * The programs that run as processes: the command, and those of the worker package that a server starts. They come from
 * the bundle, which starts in half the time, unless it is missing or something was compiled after it was made.
 */
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeCurrentBundle } from './current-bundle.ts';
import { version } from './version.ts';

const require = createRequire(import.meta.url);
/** Sources, compiled modules and the bundle are folders beside each other. */
const packageFolder = fileURLToPath(new URL('..', import.meta.url));
const bundle = takeCurrentBundle(packageFolder);

export const programs = {
  command: ofThisPackage('command', 'main'),
  /** The server below its supervisor. */
  router: ofThisPackage('router', 'router-main'),
  /** Runs models by the engines that wait for nothing but the processor. */
  worker: ofWorkerPackage('worker', 'main'),
  /** Runs pipelines. */
  pipelineWorker: ofWorkerPackage('pipeline-worker', 'pipeline-main'),
  /** Generates text. */
  generatorWorker: ofWorkerPackage('generator-worker', 'generator-main'),
  /** Runs models of any engine for the routers that attach to its socket. */
  attachedWorker: ofWorkerPackage('attached-worker', 'attached-main'),
  /** Says what a pipeline declares. */
  pipelineDescriber: ofWorkerPackage('pipeline-describer', 'pipeline-describe'),
  /** Says whether the rows of a graph are independent: a large one would hold up every request. */
  rowAnalyst: ofWorkerPackage('row-analyst', 'row-analyst'),
} as const;

/** The models of this repository, where the package was not installed without it. */
export const bundledModels: string = join(packageFolder, '../../models');

function ofThisPackage(bundled: string, compiled: string): string {
  return bundle === undefined ? join(packageFolder, `dist/${compiled}.js`) : join(bundle, `${bundled}.js`);
}

function ofWorkerPackage(bundled: string, exported: string): string {
  return bundle === undefined ? require.resolve(`@millrace/worker/${exported}`) : join(bundle, `${bundled}.js`);
}

/** Changes with the code that reads models: by the version, and by the files of the programs where one version has several builds. */
export function codeId(): string {
  const files = [programs.router, programs.rowAnalyst, programs.pipelineDescriber].map((path) => {
    const { size, mtimeMs } = statSync(path);
    return `${size}/${mtimeMs}`;
  });
  return [version, ...files].join(' ');
}
