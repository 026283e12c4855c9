/** Where each instance of a model is to run, one by one: what groups of instances come down to. */
import type { GpuProvider, GpuSpec, LoadSpec } from '@millrace/protocol';
import type { InstanceGroup } from './instance-group.ts';

export interface InstancePlace {
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
export function instancePlacesFrom(groups: readonly InstanceGroup[], provider: GpuProvider): readonly InstancePlace[] {
  const places: InstancePlace[] = [];
  for (const { name: group, device, count, gpus, priorityMax, threads } of groups) {
    for (let round = 0; round < count; round++) {
      if (device === 'cpu') places.push({ group, gpu: undefined, priorityMax, threads });
      else for (const id of gpus) places.push({ group, gpu: { id, provider }, priorityMax, threads });
    }
  }
  return places;
}

/** As operators read it. */
export function deviceNameOf({ gpu }: InstancePlace): string {
  return gpu === undefined ? 'cpu' : `gpu:${gpu.id}`;
}

/**
 * How the worker at a position is told to load a model. A worker that holds several models has as many positions as
 * the one with the most instances; the others go through their places again.
 */
export function loadSpecAt(spec: LoadSpec, places: readonly InstancePlace[], position: number): LoadSpec {
  const place = takePlaceAt(places, position);
  if (place === undefined) return spec;
  const { gpu, threads } = place;
  const { batchSizes, ...anywhere } = spec;
  // The CPU runs one size as well as another.
  const onGpu = gpu && { gpu, ...(batchSizes && { batchSizes }) };
  return { ...anywhere, ...onGpu, ...(threads > 0 && { threads }) };
}

/** Undefined for a model without instances of its own. */
export function takePlaceAt(places: readonly InstancePlace[], position: number): InstancePlace | undefined {
  return places[position % places.length];
}
