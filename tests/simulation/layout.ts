/** Which models a world has, in which versions, and what shares worker processes. */
import type { SimulatedWorld } from './simulated-worker.ts';

export interface Member {
  readonly name: string;
  readonly version: string;
}

/** What is loaded and unloaded together. */
export interface SimulatedContext {
  readonly name: string;
  readonly members: readonly Member[];
  readonly workers: number;
  readonly isConcurrent: boolean;
}

export const groupName = 'group';
export const versionsMax = 3;

export function contextsFor({ random, weather }: SimulatedWorld): readonly SimulatedContext[] {
  const contexts: SimulatedContext[] = [];
  const shared: Member[] = [];
  for (let index = 1; index <= weather.modelCount; index++) {
    const name = `model-${index}`;
    if (random.chance(weather.sharedModel)) {
      shared.push({ name, version: '1' });
      continue;
    }
    const isConcurrent = random.chance(weather.concurrentModel);
    const versions = random.chance(weather.manyVersions) ? random.integer(2, versionsMax) : 1;
    for (let version = 1; version <= versions; version++) {
      const members = [{ name, version: `${version}` }];
      contexts.push({ name: `${name}:${version}`, members, workers: random.integer(1, 2), isConcurrent });
    }
  }
  if (shared.length > 0) {
    contexts.push({ name: groupName, members: shared, workers: random.pick([1, 1, 2, 3]), isConcurrent: false });
  }
  return contexts;
}
