/** Puts the router's parts together: models found, lanes, workers, data plane. Both the server and the embedding API stand on it. */
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { Scheduler } from '@millrace/core';
import type { Lane, LoadSpec } from '@millrace/protocol';
import {
  createLocalLane,
  type DataPlaneObserver,
  EnsembleStates,
  type FleetListener,
  failureReason,
  LiveDataPlane,
  loadSpecOf,
  type ModelDefinition,
  type ModelVersionDefinition,
  type RepositoryScan,
  type ResultCache,
  Runners,
  ServedModel,
  ServedModels,
  systemClock,
  WorkerFleet,
  type WorkerGroup,
} from '@millrace/router';
import { createInlineLane, onnxruntimeEngine } from '@millrace/worker';
import type { Config } from './config/fields.ts';
import { shareThreads } from './share-threads.ts';

export interface AssemblyParts {
  readonly scan: RepositoryScan;
  readonly config: Pick<Config, 'cache' | 'queue' | 'worker'>;
  readonly observer: DataPlaneObserver;
  readonly listener: FleetListener;
  /** The program of the worker processes; Millrace's own unless given. */
  readonly workerPath?: string;
  /** Told why workers copy tensors through their socket although shared memory was asked for. */
  readonly onSharedMemoryUnavailable: (reason: string) => void;
}

export interface Assembly {
  readonly models: ServedModels;
  readonly dataPlane: LiveDataPlane;
  readonly fleet: WorkerFleet;
  readonly cache: ResultCache;
}

export function assemble(parts: AssemblyParts): Assembly {
  const { scan, config, observer, listener } = parts;
  const lanes: Readonly<Record<ModelDefinition['lane'], Lane>> = {
    inline: createInlineLane({ engines: [onnxruntimeEngine] }),
    local: createLocalLane({
      workerPath: parts.workerPath ?? createRequire(import.meta.url).resolve('@millrace/worker/main'),
      sharedMemoryBytesMax: config.worker.sharedMemory ? config.worker.sharedMemoryBytes : 0,
      onSharedMemoryUnavailable: parts.onSharedMemoryUnavailable,
    }),
  };
  const served = servedFrom(scan.models);
  const groups = groupsFrom(scan.models, served, lanes, config.worker.threads);
  const models = new ServedModels(
    [...served.values()],
    scan.failures.map((failure) => ({ name: failure.name, version: failure.version, reason: failureReason(failure) })),
  );
  const scheduler = new Scheduler({
    waitingRequestsMax: config.queue.serverRequestsMax,
    waitingBytesMax: config.queue.serverBytesMax,
  });
  const dataPlane = new LiveDataPlane({ scheduler, models, clock: systemClock, observer });
  const runners = new Runners({
    queue: dataPlane,
    inferPart: (request, signal) => dataPlane.inferPart(request, signal),
    clock: systemClock,
    observer,
    cacheLimits: {
      bytesMax: config.cache.bytesMax,
      entryBytesMax: config.cache.entryBytesMax,
      ageMsMax: config.cache.ageSecondsMax === 0 ? Number.POSITIVE_INFINITY : config.cache.ageSecondsMax * 1000,
    },
    // What may wait in the queues may also wait for the run of another.
    followerLimits: { followersMax: config.queue.serverRequestsMax, followerBytesMax: config.queue.serverBytesMax },
  });
  for (const definition of scan.models) {
    for (const version of definition.versions) {
      const model = served.get(version);
      const { cache } = definition;
      if (model !== undefined) model.runner = runners.runnerOf(model, { cache, ensemble: version.ensemble });
    }
  }
  const fleet = new WorkerFleet({
    groups,
    dataPlane,
    models,
    clock: systemClock,
    random: Math.random,
    loadMsMax: Math.ceil(config.worker.loadSecondsMax * 1000),
    listener,
  });
  watchEnsembles(served, models, dataPlane, listener);
  return { models, dataPlane, fleet, cache: runners.cache };
}

/** Every version that can be served, with the number by which workers know it. */
function servedFrom(definitions: readonly ModelDefinition[]): ReadonlyMap<ModelVersionDefinition, ServedModel> {
  const served = new Map<ModelVersionDefinition, ServedModel>();
  for (const version of definitions.flatMap(({ versions }) => versions)) {
    served.set(version, new ServedModel(version.view, version.policy, served.size + 1));
  }
  return served;
}

/** An ensemble has no workers: it is ready when its steps are. */
function watchEnsembles(
  served: ReadonlyMap<ModelVersionDefinition, ServedModel>,
  models: ServedModels,
  dataPlane: LiveDataPlane,
  listener: FleetListener,
): void {
  const states = new EnsembleStates({
    models,
    onReady(model) {
      dataPlane.addModel(model);
      listener.modelReady(model);
    },
    onFailed: (model, reason) => listener.modelFailed(model, reason),
  });
  for (const [{ ensemble }, model] of served) if (ensemble !== undefined) states.add(model, ensemble);
}

/** Versions of one model have workers of their own; models of a named group share theirs. */
function groupsFrom(
  definitions: readonly ModelDefinition[],
  served: ReadonlyMap<ModelVersionDefinition, ServedModel>,
  lanes: Readonly<Record<ModelDefinition['lane'], Lane>>,
  threads: number | 'auto',
): readonly WorkerGroup[] {
  const share = shareThreads(definitions, availableParallelism(), threads);
  const groups = new Map<string, { lane: Lane; workers: number; models: { model: ServedModel; spec: LoadSpec }[] }>();
  for (const definition of definitions) {
    for (const version of definition.versions) {
      const model = served.get(version);
      if (model === undefined || version.ensemble !== undefined) continue;
      const name = definition.isGroupShared ? definition.workerGroup : model.key;
      const group = groups.get(name) ?? { lane: lanes[definition.lane], workers: 0, models: [] };
      group.workers = Math.max(group.workers, definition.instanceCount);
      group.models.push({ model, spec: loadSpecOf(model, definition, version, share) });
      groups.set(name, group);
    }
  }
  return [...groups].map(([name, group]) => ({ name, ...group }));
}
