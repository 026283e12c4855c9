/** What is asked of the fleet: models that are to be held by workers of their own, and who hears how it goes. */
import type { Lane, LoadSpec } from '@millrace/protocol';
import type { ServedModel } from '../data-plane/served-model.ts';
import type { InstancePlacement } from '../model/instance-placements.ts';

export interface GroupedModel {
  readonly model: ServedModel;
  readonly spec: LoadSpec;
  /** Where its instances run, worker by worker. */
  readonly placements: readonly InstancePlacement[];
}

/** Models that share worker processes: usually one model, or several small ones in a named group. */
export interface WorkerGroup {
  readonly name: string;
  readonly lane: Lane;
  /** How many workers hold all of the models each. */
  readonly workers: number;
  readonly models: readonly GroupedModel[];
  readonly listener: GroupListener;
}

/** What a group tells whoever had it started. */
export interface GroupListener {
  /** A first worker can run the model, or one can again. */
  modelServable(model: ServedModel): void;
  /** No worker can: its load failed, or its workers keep dying. `isFinal`: with the same files no load can succeed. */
  modelUnservable(model: ServedModel, reason: string, isFinal: boolean): void;
  /** Every worker has loaded the models once, failed to, or died: more hands will not come soon. */
  settled(): void;
}
