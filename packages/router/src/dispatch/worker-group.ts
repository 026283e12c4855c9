/** A group of models that the fleet is to load in workers of their own, with its listener. */
import type { Lane, LoadSpec } from '@millrace/protocol';
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
}

/** Events of a group, for whoever started it. */
export interface GroupListener {
  /** A worker can run the model: the first one, or one again after none could. */
  modelServable(model: ServedModel): void;
  /** No worker can run the model: its load failed, or its workers are in a crash loop. `isFinal`: with the same files no load can succeed. */
  modelUnservable(model: ServedModel, reason: string, isFinal: boolean): void;
  /** Every worker has loaded the models once, failed to load them, or exited: no further worker will be ready soon. */
  settled(): void;
}
