import type { ModelPolicy } from '@millrace/core';
import type { OnnxGraph } from '@millrace/onnx';
import type { ConfigProblem, EngineName, LoadSpec, WarmupSample } from '@millrace/protocol';
import type { InstanceGroup } from './instance-group.ts';
import type { InstancePlacement } from './instance-placements.ts';
import type { ModelView } from './model-view.ts';
import type { RunnerSpec } from './runner-spec.ts';
import type { Sequencing } from './sequencing.ts';

/** One version of a model, checked, with all that is needed to load and serve it. */
export type ModelVersionDefinition = VersionParts & RunnerSpec;

interface VersionParts {
  readonly version: string;
  /** The model file itself; the configuration of an ensemble. */
  readonly path: string;
  /** Further files that hold its weights. */
  readonly externalPaths: readonly string[];
  readonly view: ModelView;
  readonly policy: ModelPolicy;
  /** Of a model that an engine loads from a graph. */
  readonly graph?: OnnxGraph;
  /** Of a model that is a module of user code. */
  readonly pipeline?: PipelineSettings;
  /** The rows that runs on a GPU have; undefined: any number. */
  readonly gpuBatchSizes?: readonly number[];
  /** Outputs that a ZipMap makes are loaded as tensors of scores. */
  readonly cutsZipMaps?: boolean;
  /** What each instance runs before it is said to be ready. */
  readonly warmup?: readonly WarmupSample[];
  /** For a model that keeps state from one request to the next. */
  readonly sequencing?: Sequencing;
}

/** A model that can be served. */
export interface ModelDefinition {
  readonly name: string;
  /** Its folder, or its file when it was given as one. */
  readonly path: string;
  /** Ascending, at least one. */
  readonly versions: readonly ModelVersionDefinition[];
  /** What loads it in workers; undefined: it has no instances. */
  readonly engine: EngineName | undefined;
  readonly lane: LaneName;
  readonly workerGroup: string;
  /** The group was named, so that other models may be in it. */
  readonly isGroupShared: boolean;
  readonly instanceGroups: readonly InstanceGroup[];
  /** Where each instance is to run. */
  readonly placements: readonly InstancePlacement[];
  /** As many as placements. */
  readonly instanceCount: number;
  /** Threads of one instance; 0: the server divides the machine's cores. */
  readonly threads: number;
  readonly isSpinning: boolean;
  /** How its results are kept; undefined: they are not. */
  readonly cache: CacheChoice | undefined;
}

/** A model, or one version of it, that cannot be served. */
export interface ModelFailure {
  readonly name: string;
  /** Empty when no version can be served. */
  readonly version: string;
  readonly problems: readonly ConfigProblem[];
}

export interface ModelReading {
  readonly definition: ModelDefinition | undefined;
  readonly failures: readonly ModelFailure[];
  readonly warnings: readonly ConfigProblem[];
}

/** What a model's configuration says of its results. */
export interface CacheChoice {
  /** A result may be given to a caller other than the one whose request brought it about. */
  readonly isShared: boolean;
}

/** What a load says of a pipeline alone. */
export type PipelineSettings = Required<Pick<LoadSpec, 'concurrency'>> & Pick<LoadSpec, 'isDecoupled'>;

/** A lane leads to workers of one program, or to this process; pipelines have a program and so a lane of their own. */
export type LaneName = LaneChoice | 'pipeline';

export type LaneChoice = 'local' | 'inline';
