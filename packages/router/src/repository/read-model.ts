import { formatConfigProblem } from '@millrace/protocol';
import { instancePlacementsFrom } from '../model/instance-placements.ts';
import type { ModelFailure, ModelReading, ModelVersionDefinition } from '../model/model-definition.ts';
import { readCacheChoice } from './cache-choice.ts';
import type { Findings } from './config-text/findings.ts';
import { kindOf } from './kinds/kind-table.ts';
import { readConfig } from './read-config.ts';
import type { ReadModelOptions } from './read-model-options.ts';
import { readModelParts } from './read-model-parts.ts';
import type { ModelLocation } from './repository-layout.ts';
import { chooseVersions, noteMissingVersions, unservedVersions } from './version-policy.ts';

/** Reads one model: its configuration, the versions its policy chooses, their graphs, labels and weights' files. */
export async function readModel(location: ModelLocation, options: ReadModelOptions): Promise<ModelReading> {
  const written = await readConfig(location);
  const { config, findings } = written;
  const kind = await kindOf(config, location);
  const parts = readModelParts(kind, location, written, options);
  const { settings, groups, provider } = parts;
  const cache = readCacheChoice(config, findings);
  const present = location.versions.length === 0 && !kind.needsVersionFolder ? ['1'] : location.versions;
  const chosen = chooseVersions(config, present, findings);
  noteMissingVersions(location, chosen, findings);
  if (findings.hasProblems) return failedModel(location.name, findings);

  const failures: ModelFailure[] = [];
  const warnings = new Map(findings.warnings.map((warning) => [formatConfigProblem(warning), warning]));
  const served: ModelVersionDefinition[] = [];
  for (const version of chosen.versions) {
    const read = await kind.readVersion(parts, version, options);
    // Versions that share a configuration mostly share its warnings.
    for (const warning of read.warnings) warnings.set(formatConfigProblem(warning), warning);
    if (read.definition !== undefined) served.push(read.definition);
    else failures.push({ name: location.name, version, problems: read.problems });
  }
  const unserved = unservedVersions(config, present, chosen);
  if (served.length === 0) return { definition: undefined, failures, warnings: [...warnings.values()], unserved };
  const placements = instancePlacementsFrom(groups, provider);
  const definition = {
    name: location.name,
    path: location.path,
    versions: served,
    engine: kind.engine,
    lane: kind.lane ?? settings.lane,
    workerGroup: settings.workerGroup,
    isGroupShared: settings.isGroupShared,
    sharesWorker: settings.sharesWorker,
    instanceGroups: groups,
    placements,
    instanceCount: placements.length,
    warmSpares: settings.warmSpares,
    threads: settings.threads,
    isSpinning: settings.isSpinning,
    cache,
  };
  return { definition, failures, warnings: [...warnings.values()], unserved };
}

function failedModel(name: string, { problems, warnings }: Findings): ModelReading {
  return { definition: undefined, failures: [{ name, version: '', problems }], warnings };
}
