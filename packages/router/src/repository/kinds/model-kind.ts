/** What the router needs to know about a kind of model: an entry of the table in `kind-table.ts`. */
import type { ConfigProblem, EngineName, GpuProvider } from '@millrace/protocol';
import type { InstanceGroup } from '../../model/instance-group.ts';
import type { LaneName, ModelVersionDefinition } from '../../model/model-definition.ts';
import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import type { BatchingPolicy } from '../dynamic-batching.ts';
import type { ModelSettings, ParameterName } from '../model-parameters.ts';
import type { ReadModelOptions } from '../read-model-options.ts';
import type { ModelLocation } from '../repository-layout.ts';

export interface ModelKind {
  /** As error texts name it. */
  readonly name: string;
  /** What `platform` says in a configuration, and to clients. */
  readonly platform: string;
  /** What `backend` says in a configuration; undefined: nothing does. */
  readonly backend: string | undefined;
  /** What loads it in workers; undefined: it has no workers, because other models carry it out. */
  readonly engine: EngineName | undefined;
  /** The lane to the worker program that has its engine; undefined: the one that the configuration chooses. */
  readonly lane: LaneName | undefined;
  readonly instances: 'none' | 'on-cpu' | 'on-cpu-or-gpu';
  /** False: a model without version folders has version 1. */
  readonly needsVersionFolder: boolean;
  /** Its files are executed with the permissions of the server's user, so a load by request may not bring them. */
  readonly runsCode: boolean;

  /** The `millrace.` parameters that mean something for it; others are refused. */
  readonly parameters: readonly ParameterName[];
  /** Why others are, and what to do, as the rest of a sentence about the parameter. */
  readonly foreignParameterText: string;

  /** Refuses settings that only other kinds have. */
  checkHead(config: ModelConfig, findings: Findings): void;
  /** Names of the models that carry it out; absent: it runs by itself. */
  stepNames?(config: ModelConfig): readonly string[];
  /** The definition names the runner that stands before the queue, together with what that runner needs. */
  readVersion(parts: ModelParts, version: string, options: ReadModelOptions): Promise<VersionReading>;
}

/** Any kind except the default, which models have that no other kind recognises. */
export interface RecognisedKind extends ModelKind {
  /** By what the configuration says, or by the files when it says nothing. */
  recognises(config: ModelConfig, location: ModelLocation): boolean | Promise<boolean>;
}

/** What the versions of a model have in common. */
export interface ModelParts {
  readonly location: ModelLocation;
  readonly config: ModelConfig;
  readonly settings: ModelSettings;
  readonly groups: readonly InstanceGroup[];
  /** Infinity: all of them; otherwise there are spares beside them. */
  readonly instancesInUseMax: number;
  readonly batching: BatchingPolicy;
  /** The execution provider for instances on GPUs. */
  readonly provider: GpuProvider;
  readonly findings: Findings;
}

export interface VersionReading {
  readonly definition: ModelVersionDefinition | undefined;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}
