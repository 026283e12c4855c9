/** What the life cycle asks of a model repository. `RepositoryFiles` reads folders of this machine. */
import type { ModelReading } from '../../model/model-definition.ts';
import type { FoundModels } from '../../repository/repository.ts';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import type { FileFingerprint, ModelFingerprint } from './fingerprint.ts';

export interface RepositorySource {
  find(): Promise<FoundModels>;
  fingerprintOf(location: ModelLocation): Promise<ModelFingerprint>;
  /** What `fingerprintOf` says of one version. */
  fingerprintOfVersion(location: ModelLocation, version: string): Promise<FileFingerprint>;
  read(location: ModelLocation): Promise<ModelReading>;
  /** Calls back when a change is reported, as far as the source can tell. Watches nothing before the first `refresh`. */
  watch(onChange: () => void): SourceWatch;
}

export interface SourceWatch {
  /** Watches what exists now, and no longer what was removed. */
  refresh(): Promise<void>;
  close(): void;
}
