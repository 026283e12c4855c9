/** A group of models that the fleet is to load in workers of their own, with its listener. */
import type { Lane, LoadSpec, WorkerEnd } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { InstancePlacement } from '../model/instance-placements.ts';

export interface GroupedModel {
  readonly model: ServedModel;
  readonly spec: LoadSpec;
  /** The placements of its instances, one for each worker. */
  readonly placements: readonly InstancePlacement[];
}

/** Models that share worker processes: usually one model, or several small ones in a named group. */
export interface WorkerGroup {
  readonly name: string;
  readonly lane: Lane;
  /** The number of workers; each holds all of the models. */
  readonly workers: number;
  readonly models: readonly GroupedModel[];
  /** An earlier attempt to load the same models failed: the first worker that exits ends this one. */
  readonly isRetry: boolean;
  readonly listener: GroupListener;
  /** Its models may be loaded by workers that hold models of other groups as well. */
  readonly isShared: boolean;
  /** The runs of its models are known to be short: they are kept apart from those of which that is not known. */
  readonly isMeasured?: boolean;
}

/** Part of a worker's memory. */
export interface MemoryShare {
  /** Undefined where the worker has no process of its own, or none at the moment. */
  readonly pid: number | undefined;
  /** What the process reported after its last load; 0 before. */
  readonly residentBytes: number;
  /** From 0 to 1: the part of it that belongs to the models in question. */
  readonly share: number;
}

/** Models of a group in the workers that hold them. */
export interface RunningModels {
  /** How many there are, including those that wait for a restart. */
  readonly workers: number;
  /** Whether every worker has loaded the models once, failed to load them, or exited. */
  readonly isSettled: boolean;
  memory(): readonly MemoryShare[];
  /** Starts more workers, or stops the last ones when they have finished what they hold. */
  resize(workers: number): void;
}

/** Events of a group, for whoever started it. */
export interface GroupListener {
  /** A worker can run the model: the first one, or one again after none could. */
  modelServable(model: ServedModel): void;
  /** No worker can run the model: its load failed, or its workers are in a crash loop. `isFinal`: with the same files no load can succeed. */
  modelUnservable(model: ServedModel, reason: string, isFinal: boolean): void;
  /** Every worker has loaded the models once, failed to load them, or exited: no further worker will be ready soon. */
  settled(): void;
  /** A worker has loaded the model, which took so much of its processor time. */
  loadMeasured?(model: ServedModel, processorMs: number): void;
  /** A worker that other models share ended while it loaded the model or ran a batch of it. */
  workerEndedIn?(model: ServedModel, end: WorkerEnd): void;
  /** A load found other files than those that were read. */
  filesChanged?(model: ServedModel): void;
}
