import { readModel } from '../../repository/read-model.ts';
import type { ReadModelOptions } from '../../repository/read-model-options.ts';
import { findAllModels } from '../../repository/repository.ts';
import { fingerprintOf, fingerprintOfVersion } from './fingerprint.ts';
import { FolderWatches } from './folder-watches.ts';
import type { RepositorySource } from './repository-source.ts';

/** The models in `paths`: model repositories and single files. */
export function repositoryFiles(paths: readonly string[], reading: ReadModelOptions): RepositorySource {
  return {
    find: () => findAllModels(paths),
    fingerprintOf: (location) => fingerprintOf(location),
    fingerprintOfVersion: (location, version) => fingerprintOfVersion(location, version),
    read: (location) => readModel(location, reading),
    watch: (onChange) => new FolderWatches(paths, onChange),
  };
}
