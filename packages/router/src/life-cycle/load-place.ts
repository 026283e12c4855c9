/** Where a model is loaded from: the repository, or the files that came with its load. */
import { readdir } from 'node:fs/promises';
import type { ModelFailure } from '../model/model-definition.ts';
import { isVersionName } from '../model/version-name.ts';
import type { ModelPlace } from '../repository/repository-layout.ts';
import type { SavedLoad } from './saved-loads.ts';

/** By name: where models lie in the repository, or what keeps one from being looked into. */
export type Places = ReadonlyMap<string, ModelPlace | ModelFailure>;

export async function placeOfLoad(
  name: string,
  { config, folder }: SavedLoad,
  places: Places,
): Promise<ModelPlace | ModelFailure> {
  const found = folder === undefined ? places.get(name) : await placeIn(name, folder);
  if (found === undefined) {
    const message = `failed to poll from model repository: there is no model ${JSON.stringify(name)}`;
    return { name, version: '', problems: [{ source: name, message }] };
  }
  return 'problems' in found ? found : withConfig(found, config);
}

/** Of a load as it was asked for: before its files are written, its configuration is all that is known of them. */
export function placeOfRequest(name: string, config: string | undefined, places: Places): ModelPlace {
  const sent = { name, path: name, isSingleFile: false, hasConfig: false, versions: [] };
  return withConfig(takePlace(places, name) ?? sent, config);
}

export function takePlace(places: Places, name: string): ModelPlace | undefined {
  const place = places.get(name);
  return place === undefined || 'problems' in place ? undefined : place;
}

function withConfig(place: ModelPlace, config: string | undefined): ModelPlace {
  return config === undefined ? place : { ...place, hasConfig: true, configText: config };
}

async function placeIn(name: string, folder: string): Promise<ModelPlace | undefined> {
  const names = await readdir(folder).catch((): string[] => []);
  if (names.length === 0) return undefined;
  return { name, path: folder, isSingleFile: false, hasConfig: false, versions: names.filter(isVersionName) };
}
