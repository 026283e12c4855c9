import * as nodeModule from 'node:module';
import { basename, dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { load, resolve, revisionParameter } from './module-hooks.ts';
import { isPipeline, type PipelineDefinition } from './pipeline-api.ts';
import { takeSyntaxErrorPosition } from './syntax-error-position.ts';
import { messageOf, reasonOf } from './user-error.ts';

let isHooked = false;
let revision = 0;

/** Imports the module of a pipeline, again on each call. Rejects with an error that says what to do. */
export async function loadPipelineModule(path: string): Promise<PipelineDefinition> {
  hookOnce();
  revision += 1;
  const url = pathToFileURL(path);
  url.searchParams.set(revisionParameter, String(revision));
  const module = await imported(url.href, path);
  const name = basename(path);
  if (!isPipeline(module.default)) {
    throw new Error(`${name} has no pipeline as its default export; write: export default definePipeline({ … })`);
  }
  if (typeof module.default.run !== 'function') throw new Error(`the pipeline in ${name} has no function run; add one`);
  return module.default;
}

async function imported(href: string, path: string): Promise<{ readonly default?: unknown }> {
  try {
    return (await import(href)) as { readonly default?: unknown };
  } catch (error) {
    // Errors thrown by a line of the module, and errors of type stripping, have a position already.
    const lacksPosition = error instanceof SyntaxError && !/:\d+\)$/.test(reasonOf(error, path));
    const position = lacksPosition ? takeSyntaxErrorPosition(dirname(path)) : undefined;
    if (position === undefined) throw error;
    throw new SyntaxError(`${messageOf(error)} (${position})`);
  }
}

type RegisterHooks = (hooks: { resolve: typeof resolve; load: typeof load }) => void;

function hookOnce(): void {
  if (isHooked) return;
  isHooked = true;
  // In this thread where Node supports it, otherwise in the loader thread.
  const { registerHooks } = nodeModule as unknown as { registerHooks?: RegisterHooks };
  if (registerHooks === undefined) nodeModule.register('./module-hooks.js', import.meta.url);
  else registerHooks({ resolve, load });
}
