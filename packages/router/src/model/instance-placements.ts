/** Expands the instance groups of a model into one placement (device, priority, threads) for each instance. */
import type { GpuProvider, GpuSpec, LoadSpec } from '@millrace/protocol';
import type { InstanceGroup } from './instance-group.ts';

export interface InstancePlacement {
  /** The name of its instance group. */
  readonly group: string;
  /** Undefined: the CPU. */
  readonly gpu: GpuSpec | undefined;
  /** It takes only requests of this priority level or more urgent ones; Infinity: all. */
  readonly priorityMax: number;
  /** 0: the model's own setting. */
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

/** The device as operators read it: `cpu` or `gpu:0`. */
export function deviceNameOf({ gpu }: InstancePlacement): string {
  return gpu === undefined ? 'cpu' : `gpu:${gpu.id}`;
}

/**
 * The load spec for the worker at a position. A worker group of several models has as many positions as the model with
 * the most instances; models with fewer repeat their placements.
 */
export function loadSpecAt(spec: LoadSpec, placements: readonly InstancePlacement[], position: number): LoadSpec {
  const placement = takePlacementAt(placements, position);
  if (placement === undefined) return spec;
  const { gpu, threads } = placement;
  const { batchSizes, ...anywhere } = spec;
  // Batch sizes are fixed on GPUs only: a CPU runs every size equally well.
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
