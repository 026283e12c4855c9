/** Which models a world has, of which kinds and in which versions, and what shares worker processes. */
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { StreamHostWeather } from '../world/stream-host-weather.ts';
import type { Weather } from '../world/weather.ts';

/**
 * `sequence`: it keeps state from one step to the next; `decoupled`: it gives any number of answers to a request; `stateful`: it
 * takes its state as an input and gives it as an output, which is for durable streams.
 */
export type SimulatedKind = 'plain' | 'sequence' | 'ensemble' | 'decoupled' | 'stateful';

/** A model as the world knows it; what its folder holds changes with time. */
export interface WorldModel {
  readonly name: string;
  readonly kind: SimulatedKind;
  /** The most versions that its folder ever has. */
  readonly versionsMax: number;
  /** It shares worker processes with the other models that do. */
  readonly isShared: boolean;
  readonly isConcurrent: boolean;
  /** Requests with more rows than a batch may have are split. */
  readonly isSplit: boolean;
  /** Of a decoupled model: an input of a durable stream can be run again. */
  readonly isResumable: boolean;
  /** Whether results are kept, and for whom. */
  readonly cache: 'none' | 'caller' | 'all';
  /** Of an ensemble: the models that it runs one after the other. */
  readonly steps: readonly string[];
  /** Of a concurrent model: the model that its runs call; undefined: none. */
  readonly callee: string | undefined;
}

export const groupName = 'group';
export const versionsMax = 3;

const plain: Omit<WorldModel, 'name'> = {
  kind: 'plain',
  versionsMax: 1,
  isShared: false,
  isConcurrent: false,
  isSplit: false,
  isResumable: false,
  cache: 'none',
  steps: [],
  callee: undefined,
};

/** The versions that streams of an earlier process wait for. */
export function streamedVersions(
  { streamedModels }: Pick<Weather, 'streamedModels'>,
  models: readonly WorldModel[],
): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const [index, { name }] of models.entries()) {
    if ((streamedModels & (1 << index)) === 0) continue;
    for (let version = 1; version <= versionsMax; version++) keys.add(`${name}:${version}`);
  }
  return keys;
}

export function modelsFor(world: SimulatedWorld): readonly WorldModel[] {
  const { random, weather } = world;
  const models: WorldModel[] = [];
  for (let index = 1; index <= weather.modelCount; index++) models.push(plainModel(world, `model-${index}`, models));
  const runnable = models.filter(({ isConcurrent }) => !isConcurrent).map(({ name }) => name);
  if (random.chance(weather.sequenceModel)) models.push({ ...plain, name: 'sequence-1', kind: 'sequence' });
  if (random.chance(weather.decoupledModel)) {
    models.push({ ...plain, name: 'decoupled-1', kind: 'decoupled', isConcurrent: true });
  }
  if (runnable.length > 0 && random.chance(weather.ensembleModel)) {
    const steps = [random.pick(runnable), ...(random.chance(0.6) ? [random.pick(runnable)] : [])];
    models.push({ ...plain, name: 'ensemble-1', kind: 'ensemble', steps });
  }
  if (weather.streams !== undefined) models.push(...streamModels(weather.streams));
  return models;
}

/** Whether it was made for durable streams. */
export function isForStreams({ name }: WorldModel): boolean {
  return name === 'stateful-1' || name === 'decoupled-2';
}

/** What durable streams run on, beside models that others use too. */
function streamModels({ hasStateful, hasDecoupled, isResumable }: StreamHostWeather): readonly WorldModel[] {
  const models: WorldModel[] = [];
  if (hasStateful) models.push({ ...plain, name: 'stateful-1', kind: 'stateful', versionsMax: 2 });
  if (hasDecoupled) {
    models.push({ ...plain, name: 'decoupled-2', kind: 'decoupled', isConcurrent: true, isResumable });
  }
  return models;
}

function plainModel({ random, weather }: SimulatedWorld, name: string, earlier: readonly WorldModel[]): WorldModel {
  const isShared = random.chance(weather.sharedModel);
  const isConcurrent = !isShared && random.chance(weather.concurrentModel);
  const hasMany = !isShared && random.chance(weather.manyVersions);
  const callees = earlier.filter((model) => !model.isConcurrent);
  return {
    ...plain,
    name,
    versionsMax: hasMany ? random.integer(2, versionsMax) : 1,
    isShared,
    isConcurrent,
    isSplit: !isConcurrent && random.chance(weather.splitModel),
    cache: random.chance(weather.cachedModel) ? random.pick(['caller', 'all']) : 'none',
    callee:
      isConcurrent && callees.length > 0 && random.chance(weather.callingModel) ? random.pick(callees).name : undefined,
  };
}
