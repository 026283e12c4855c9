/** Reads models from the repository on request: their locations, and the contents of each. Keeps nothing of what it read. */
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import type { ModelDefinition, ModelFailure, UnservedVersions } from '../../model/model-definition.ts';
import type { FoundModels } from '../../repository/repository.ts';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import type { FileFingerprint, ModelFingerprint } from './fingerprint.ts';
import type { RepositorySource } from './repository-source.ts';

/** A model that was read, and the fingerprint of its folder at that time. */
export interface ReadDefinition {
  readonly definition: ModelDefinition;
  readonly fingerprint: ModelFingerprint;
  /** The fingerprint that the files of a version have now. */
  readonly fingerprintNow: (version: string) => Promise<FileFingerprint>;
  /** Rises with every requested load, also when nothing changed. */
  readonly generation: number;
}

/** A model as it was read, and what of it cannot be served. */
export interface LibraryReading {
  readonly failures: readonly ModelFailure[];
  readonly read: ReadDefinition | undefined;
}

/** By name: the locations of models in the repository, or why one cannot be opened. */
export type ModelLocations = ReadonlyMap<string, ModelLocation | ModelFailure>;

export interface RepositoryReaderParts {
  readonly source: RepositorySource;
  readonly onWarning: (warning: ConfigProblem) => void;
  /** Called with the names of all models whenever the repository was listed. */
  readonly onFound: (names: ReadonlySet<string>) => void;
  /** Called for every model that was read, with its versions that the configuration leaves out. */
  readonly onUnserved: (name: string, unserved: UnservedVersions | undefined) => void;
}

export class RepositoryReader {
  readonly #parts: RepositoryReaderParts;

  constructor(parts: RepositoryReaderParts) {
    this.#parts = parts;
  }

  async find(): Promise<FoundModels> {
    const found = await this.#parts.source.find();
    this.#parts.onFound(new Set([...found.locations, ...found.failures].map(({ name }) => name)));
    return found;
  }

  /** Rejects with a `ConfigError` when the paths that were given cannot be used. */
  async mustFind(): Promise<FoundModels> {
    const found = await this.find();
    if (found.problems.length > 0) throw new ConfigError(found.problems);
    return found;
  }

  async locations(): Promise<ModelLocations> {
    const { locations, failures } = await this.find();
    return new Map([...failures, ...locations].map((one) => [one.name, one]));
  }

  async read(location: ModelLocation): Promise<LibraryReading> {
    // Taken before the files are read: a change in the meantime is seen as a change, not missed.
    const { source, onWarning, onUnserved } = this.#parts;
    const fingerprint = await source.fingerprintOf(location);
    const { definition, failures, warnings, unserved } = await source.read(location);
    onUnserved(location.name, unserved);
    for (const warning of warnings) onWarning(warning);
    const fingerprintNow = (version: string): Promise<FileFingerprint> =>
      source.fingerprintOfVersion(location, version);
    return { failures, read: definition && { definition, fingerprint, fingerprintNow, generation: 0 } };
  }
}
