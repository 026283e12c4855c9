import type { ModelPolicy } from '@millrace/core';
import type { OnnxGraph } from '@millrace/onnx';
import type { ConfigProblem, EngineName, LoadSpec, WarmupSample } from '@millrace/protocol';
import type { InstanceGroup } from './instance-group.ts';
import type { InstancePlacement } from './instance-placements.ts';
import type { ModelView } from './model-view.ts';
import type { RunnerSpec } from './runner-spec.ts';
import type { Sequencing } from './sequencing.ts';

/** One version of a model, validated, with everything that is needed to load and serve it. */
export type ModelVersionDefinition = VersionParts & RunnerSpec;

interface VersionParts {
  readonly version: string;
  /** The model file; for an ensemble its configuration. */
  readonly path: string;
  /** Further files that hold its weights. */
  readonly externalPaths: readonly string[];
  readonly view: ModelView;
  readonly policy: ModelPolicy;
  /** For a model that an engine loads from a graph. */
  readonly graph?: OnnxGraph;
  /** For a model that runs several requests at once. */
  readonly concurrent?: ConcurrentSettings;
  /** The batch sizes that a GPU runs, in rows; undefined: any. */
  readonly gpuBatchSizes?: readonly number[];
  /** ZipMap nodes are removed on load, so that their outputs are tensors of scores. */
  readonly cutsZipMaps?: boolean;
  /** Samples that each instance runs before it reports ready. */
  readonly warmup?: readonly WarmupSample[];
  /** For a model that keeps state from one request to the next. */
  readonly sequencing?: Sequencing;
}

/** A model that can be served. */
export interface ModelDefinition {
  readonly name: string;
  /** Its folder, or its file when the model was given as a single file. */
  readonly path: string;
  /** Ascending, at least one. */
  readonly versions: readonly ModelVersionDefinition[];
  /** The engine that loads it in workers; undefined: it has no instances. */
  readonly engine: EngineName | undefined;
  readonly lane: LaneName;
  readonly workerGroup: string;
  /** The group was named in the configuration, so that other models may share it. */
  readonly isGroupShared: boolean;
  /** A worker may hold it beside other small models. */
  readonly sharesWorker: boolean;
  readonly instanceGroups: readonly InstanceGroup[];
  /** One for each instance. */
  readonly placements: readonly InstancePlacement[];
  /** The number of placements. */
  readonly instanceCount: number;
  /** Workers beyond the instances that are kept loaded, and used when one of the others is gone. */
  readonly warmSpares: number;
  /** Threads of one instance; 0: the server divides the machine's cores. */
  readonly threads: number;
  readonly isSpinning: boolean;
  /** How its results are cached; undefined: they are not. */
  readonly cache: CacheChoice | undefined;
}

/** A model, or one version of it, that cannot be served. */
export interface ModelFailure {
  readonly name: string;
  /** Empty when no version can be served. */
  readonly version: string;
  readonly problems: readonly ConfigProblem[];
}

/** Versions in the repository that the configuration leaves out. */
export interface UnservedVersions {
  readonly versions: readonly string[];
  /** Why, and how to change it: `version_policy serves only …`. */
  readonly reason: string;
}

export interface ModelReading {
  readonly definition: ModelDefinition | undefined;
  readonly failures: readonly ModelFailure[];
  readonly warnings: readonly ConfigProblem[];
  readonly unserved?: UnservedVersions | undefined;
}

/** What a model's configuration says about caching its results. */
export interface CacheChoice {
  /** A result may be given to other callers than the one whose request produced it. */
  readonly isShared: boolean;
}

/** The settings of a load that only models have which run several requests at once: pipelines and generators. */
export type ConcurrentSettings = Required<Pick<LoadSpec, 'concurrency'>> &
  Pick<LoadSpec, 'isDecoupled' | 'cacheBytesMax'>;

/** A lane leads to workers of one program, or to this process; pipelines and generators have programs and so lanes of their own. */
export type LaneName = LaneChoice | 'pipeline' | 'generator';

export type LaneChoice = 'local' | 'inline';
