/** Where a model is loaded from: the repository, or the files that came with its load. */
import { readdir } from 'node:fs/promises';
import type { ModelFailure } from '../../model/model-definition.ts';
import { isVersionName } from '../../model/version-name.ts';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import type { ModelLocations } from '../reading/repository-reader.ts';
import type { SavedLoad } from './saved-loads.ts';

export async function locationOfLoad(
  name: string,
  { config, folder }: SavedLoad,
  locations: ModelLocations,
): Promise<ModelLocation | ModelFailure> {
  const found = folder === undefined ? locations.get(name) : await locationIn(name, folder);
  if (found === undefined) {
    const message = `failed to poll from model repository: there is no model ${JSON.stringify(name)}`;
    return { name, version: '', problems: [{ source: name, message }] };
  }
  return 'problems' in found ? found : withConfig(found, config);
}

/** The location of a requested load whose files are not written yet: only its configuration is known. */
export function locationOfRequest(name: string, config: string | undefined, locations: ModelLocations): ModelLocation {
  const sent = { name, path: name, isSingleFile: false, hasConfig: false, versions: [] };
  return withConfig(takeLocation(locations, name) ?? sent, config);
}

export function takeLocation(locations: ModelLocations, name: string): ModelLocation | undefined {
  const location = locations.get(name);
  return location === undefined || 'problems' in location ? undefined : location;
}

function withConfig(location: ModelLocation, config: string | undefined): ModelLocation {
  return config === undefined ? location : { ...location, hasConfig: true, configText: config };
}

async function locationIn(name: string, folder: string): Promise<ModelLocation | undefined> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length === 0) return undefined;
  return { name, path: folder, isSingleFile: false, hasConfig: false, versions: names.filter(isVersionName) };
}
