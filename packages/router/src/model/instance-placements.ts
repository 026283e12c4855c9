/** Where each instance of a model is to run, one by one: what groups of instances come down to. */
import type { GpuProvider, GpuSpec, LoadSpec } from '@millrace/protocol';
import type { InstanceGroup } from './instance-group.ts';

export interface InstancePlacement {
  /** The name of its instance group. */
  readonly group: string;
  /** Undefined: the CPU. */
  readonly gpu: GpuSpec | undefined;
  /** It takes requests of this priority level and more urgent ones only; Infinity: all. */
  readonly priorityMax: number;
  /** 0: as many as the model's others. */
  readonly threads: number;
}

/** In the order of the groups; the GPUs of a group take turns, so that a few instances spread over all of them. */
export function instancePlacementsFrom(
  groups: readonly InstanceGroup[],
  provider: GpuProvider,
): readonly InstancePlacement[] {
  const placements: InstancePlacement[] = [];
  for (const { name: group, device, count, gpus, priorityMax, threads } of groups) {
    for (let round = 0; round < count; round++) {
      if (device === 'cpu') placements.push({ group, gpu: undefined, priorityMax, threads });
      else for (const id of gpus) placements.push({ group, gpu: { id, provider }, priorityMax, threads });
    }
  }
  return placements;
}

/** As operators read it. */
export function deviceNameOf({ gpu }: InstancePlacement): string {
  return gpu === undefined ? 'cpu' : `gpu:${gpu.id}`;
}

/**
 * How the worker at a position is told to load a model. A worker that holds several models has as many positions as
 * the one with the most instances; the others go through their placements again.
 */
export function loadSpecAt(spec: LoadSpec, placements: readonly InstancePlacement[], position: number): LoadSpec {
  const placement = takePlacementAt(placements, position);
  if (placement === undefined) return spec;
  const { gpu, threads } = placement;
  const { batchSizes, ...anywhere } = spec;
  // The CPU runs one size as well as another.
  const onGpu = gpu && { gpu, ...(batchSizes && { batchSizes }) };
  return { ...anywhere, ...onGpu, ...(threads > 0 && { threads }) };
}

/** Undefined for a model without instances of its own. */
export function takePlacementAt(
  placements: readonly InstancePlacement[],
  position: number,
): InstancePlacement | undefined {
  return placements[position % placements.length];
}
