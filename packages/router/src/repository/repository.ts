import { type ConfigProblem, noGpuSupport } from '@millrace/protocol';
import type { ModelDefinition, ModelFailure } from '../model/model-definition.ts';
import { warnOfSteps } from './kinds/ensemble/warn-of-steps.ts';
import { modelDefaults } from './model-parameters.ts';
import { readModel } from './read-model.ts';
import type { ReadModelOptions } from './read-model-options.ts';
import { findModels, type ModelLocation, realPathOf } from './repository-layout.ts';

export interface RepositoryScan {
  /** Models with at least one version that can be served, by name. */
  readonly models: readonly ModelDefinition[];
  /** Models and versions that cannot, by name; the others serve. */
  readonly failures: readonly ModelFailure[];
  /** What is wrong with the paths that were given. */
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/** The models of all `paths`, found and not yet read. */
export interface FoundModels {
  readonly locations: readonly ModelLocation[];
  /** By name: models that cannot be opened, or whose name is used twice. */
  readonly failures: readonly ModelFailure[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

export async function findAllModels(paths: readonly string[]): Promise<FoundModels> {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const failures: ModelFailure[] = [];
  const locationsByName = new Map<string, ModelLocation[]>();
  for (const path of await distinctPaths(paths)) {
    const layout = await findModels(path);
    problems.push(...layout.problems);
    warnings.push(...layout.warnings);
    for (const { name, problem } of layout.broken) failures.push({ name, version: '', problems: [problem] });
    for (const location of layout.locations) {
      const found = locationsByName.get(location.name) ?? [];
      // A file that is given together with its folder is one model.
      if (!found.some(({ path: known }) => known === location.path))
        locationsByName.set(location.name, [...found, location]);
    }
  }
  const locations: ModelLocation[] = [];
  for (const [name, found] of locationsByName) {
    if (found.length === 1) locations.push(...found);
    else failures.push(namedTwice(name, found));
  }
  return { locations, failures, problems, warnings };
}

/**
 * Finds and checks the models of all `paths`: model repositories and single `.onnx` files. Nothing is loaded. Whatever
 * is wrong is in the result, with file, line and field; this never throws.
 */
export async function scanRepository(
  paths: readonly string[],
  options: Partial<ReadModelOptions> = {},
): Promise<RepositoryScan> {
  const found = await findAllModels(paths);
  const warnings = [...found.warnings];
  const failures = [...found.failures];
  const models: ModelDefinition[] = [];
  for (const location of found.locations) {
    const reading = await readModel(location, { gpu: noGpuSupport, defaults: modelDefaults, ...options });
    if (reading.definition !== undefined) models.push(reading.definition);
    failures.push(...reading.failures);
    warnings.push(...reading.warnings);
  }
  warnings.push(...warnOfSteps(models));
  return { models: models.sort(byName), failures: failures.sort(byName), problems: found.problems, warnings };
}

async function distinctPaths(paths: readonly string[]): Promise<readonly string[]> {
  const byRealPath = new Map<string, string>();
  for (const path of paths) {
    const real = await realPathOf(path);
    if (!byRealPath.has(real)) byRealPath.set(real, path);
  }
  return [...byRealPath.values()];
}

/** Which of them answers must not depend on the order of the paths, so none is served. */
function namedTwice(name: string, locations: readonly ModelLocation[]): ModelFailure {
  const all = locations.map(({ path }) => path);
  const message = `the name ${JSON.stringify(name)} is used by several models (${all.join(', ')}); rename all but one`;
  return { name, version: '', problems: [{ source: all[0] ?? '', message }] };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
