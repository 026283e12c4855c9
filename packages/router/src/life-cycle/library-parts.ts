/** What a library is made from: its collaborators and its configuration. */
import type { MetadataStore } from '@millrace/store';
import type { WorkInspection } from '../data-plane/work-inspection.ts';
import type { ModelLocation } from '../repository/repository-layout.ts';
import type { OverrideFilesOptions } from './explicit/override-files.ts';
import type { LibraryListener } from './library-listener.ts';
import type { RepositorySource } from './reading/repository-source.ts';
import type { LibraryContentsParts } from './revisions/library-contents.ts';
import type { RevisionLoaderParts } from './revisions/revision-loader.ts';

/** `none`: the repository is read once; `poll`: it is watched; `explicit`: models are loaded by request. */
export type ControlMode = 'none' | 'poll' | 'explicit';

export interface ModelLibraryParts
  extends Omit<RevisionLoaderParts, 'move' | 'onFilesChanged'>,
    Omit<LibraryContentsParts, 'loader' | 'isRetried' | 'isPinned'>,
    OverrideFilesOptions {
  /** Model repositories and single files, for messages. */
  readonly paths: readonly string[];
  /** Where their contents are read. */
  readonly source: RepositorySource;
  readonly control: LibraryControl;
  readonly inspection: Pick<WorkInspection, 'workOf'>;
  /** Keeps explicit loads and pins. */
  readonly store: MetadataStore;
  readonly stateFolder: string | undefined;
  readonly listener: LibraryListener;
  /** What may begin before models are read; absent: nothing. */
  readonly preparation?: LoadPreparation | undefined;
}

export interface LoadPreparation {
  /** These models are about to be read, and loaded if they can be. */
  prepare(locations: readonly ModelLocation[]): void;
  /** Whatever is needed of it is in use now: the first loads have begun, or there are none. */
  release(): void;
}

export interface LibraryControl {
  readonly mode: ControlMode;
  /** How often the repository is checked in poll mode, whether or not the system reports changes. */
  readonly pollMs: number;
  /** How long files must have stayed unchanged before they are loaded in poll mode. */
  readonly settleMs: number;
  /** What is loaded at the start in explicit mode; `*` stands for all. */
  readonly loads: readonly string[];
  /** The process takes the place of another: what was unloaded there by request is left out of `loads`. */
  readonly isRestart: boolean;
  /** Whether loads by request may bring pipelines and other files that are executed. */
  readonly isUploadedCodeAllowed: boolean;
  /** How often processes are measured. */
  readonly measureMs: number;
  /** Infinity: no budget. */
  readonly budgetBytes: number;
}
