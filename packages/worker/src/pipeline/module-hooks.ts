/**
 * How Node loads the modules of a pipeline, on every supported version: types are stripped in place, so that line numbers
 * stay the same; `.js` is always an ES module; `millrace/pipeline` resolves to the server's own module. Modules that a
 * pipeline imports from its own folder are loaded again with it.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as amaro from 'amaro';

/** The URL parameter that marks modules of a pipeline, with a number for each load. */
export const revisionParameter = 'millrace';

interface ResolveContext {
  readonly parentURL?: string | undefined;
}

type Resolved = { readonly url: string; readonly shortCircuit?: boolean };
type Loaded = { readonly format: string; readonly source?: string; readonly shortCircuit?: boolean };

const apiUrl = new URL('./pipeline-api.js', import.meta.url).href;

export function resolve<Next>(
  specifier: string,
  context: ResolveContext,
  nextResolve: (specifier: string, context: ResolveContext) => Next,
): Next | Resolved {
  if (specifier === 'millrace/pipeline') return { url: apiUrl, shortCircuit: true };
  const revision = revisionOf(context.parentURL);
  if (revision === undefined || !/^\.{1,2}\//.test(specifier)) return nextResolve(specifier, context);
  const url = new URL(specifier, context.parentURL);
  url.searchParams.set(revisionParameter, revision);
  return { url: url.href, shortCircuit: true };
}

export function load<Next>(
  url: string,
  context: object,
  nextLoad: (url: string, context: object) => Next,
): Next | Loaded {
  const kind = revisionOf(url) === undefined ? undefined : /\.(?:m?ts|m?js)$/.exec(new URL(url).pathname)?.[0];
  if (kind === undefined) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const text = readFileSync(path, 'utf8');
  if (!kind.endsWith('ts')) return { format: 'module', source: text, shortCircuit: true };
  try {
    return { format: 'module', source: strip(text), shortCircuit: true };
  } catch (error) {
    throw syntaxErrorFrom(error, basename(path));
  }
}

let stripper: typeof amaro | undefined;

/** The library is some megabytes of WebAssembly, so it is loaded for the first file that has types. */
function strip(text: string): string {
  stripper ??= createRequire(import.meta.url)('amaro') as typeof amaro;
  return stripper.transformSync(text, { mode: 'strip-only' }).code;
}

/** The library throws objects that are no errors, with the position in fields. */
function syntaxErrorFrom(thrown: unknown, file: string): SyntaxError {
  const { message = String(thrown), startLine } = (thrown ?? {}) as { message?: string; startLine?: number };
  return new SyntaxError(`${message} (${startLine === undefined ? file : `${file}:${startLine}`})`);
}

function revisionOf(url: string | undefined): string | undefined {
  if (url === undefined || !url.startsWith('file:')) return undefined;
  return new URL(url).searchParams.get(revisionParameter) ?? undefined;
}
