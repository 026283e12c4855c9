/** Which models a world has, in which versions, and what shares worker processes. */
import type { SimulatedWorld } from '../world/simulated-world.ts';

/** A model as the world knows it; what its folder holds changes with time. */
export interface SimulatedModel {
  readonly name: string;
  /** The most versions that its folder ever has. */
  readonly versionsMax: number;
  /** It shares worker processes with the other models that do. */
  readonly isShared: boolean;
  readonly isConcurrent: boolean;
  /** Requests with more rows than a batch may have are split. */
  readonly isSplit: boolean;
}

export const groupName = 'group';
export const versionsMax = 3;

export function modelsFor({ random, weather }: SimulatedWorld): readonly SimulatedModel[] {
  const models: SimulatedModel[] = [];
  for (let index = 1; index <= weather.modelCount; index++) {
    const name = `model-${index}`;
    const isShared = random.chance(weather.sharedModel);
    const isConcurrent = !isShared && random.chance(weather.concurrentModel);
    const hasMany = !isShared && random.chance(weather.manyVersions);
    const isSplit = !isConcurrent && random.chance(weather.splitModel);
    models.push({ name, versionsMax: hasMany ? random.integer(2, versionsMax) : 1, isShared, isConcurrent, isSplit });
  }
  return models;
}
