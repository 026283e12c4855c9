/** Puts the router's parts together: lanes, workers, data plane, and the library of models that uses them. The server and the embedding API both use it. */
import { availableParallelism } from 'node:os';
import { memoryBytesMaxDefault, Scheduler } from '@millrace/core';
import { type AnalyseRows, RowAnalyst } from '@millrace/onnx';
import {
  type Clock,
  createDataPlane,
  type DataPlaneObserver,
  defaultShadowLimits,
  type LibraryControl,
  type LibraryListener,
  type LiveDataPlane,
  type LocalLaneOptions,
  ModelLibrary,
  measureProcess,
  measureProcesses,
  type PendingObserver,
  ProbeMemory,
  pathRedactionFor,
  type ResultCache,
  Runners,
  repositoryFiles,
  ServedModels,
  type ShadowOutcome,
  systemClock,
  TrafficCatalogue,
  TrafficTable,
  WorkerFleet,
} from '@millrace/router/internal';
import { type MetadataStore, openMemoryStore } from '@millrace/store';
import type { ChildProcesses } from './children/child-processes.ts';
import type { Config } from './config/fields.ts';
import { createLanes, type PreparedLanes, preparedLanes } from './lanes.ts';
import { loadPreparation } from './load-preparation.ts';
import { gpuSupportFrom, modelDefaultsFrom } from './model-defaults.ts';
import { pipelineDescriber } from './pipelines.ts';
import { programs } from './programs.ts';
import type { ReadingCache } from './reading-cache.ts';
import { shareThreads } from './share-threads.ts';

/** The most shared workers that are started before one of them holds a second model. */
const sharedWorkersSpreadMax = 4;

export interface AssemblyParts {
  /** Model repositories and single files. */
  readonly paths: readonly string[];
  readonly config: Pick<Config, 'cache' | 'memory' | 'models' | 'queue' | 'shadow' | 'worker'>;
  /** It takes the place of another process: what was unloaded there by request is not loaded again. */
  readonly isRestart?: boolean;
  /** Keeps explicit loads and pins; without it they are lost when the process ends. */
  readonly store?: MetadataStore;
  /** Where what generators were found to be like is kept; without it, it is forgotten when the process ends. */
  readonly probeFile?: string;
  /** Where model files uploaded with a load are kept; without it they are removed when the server ends. */
  readonly stateFolder?: string;
  readonly observer: DataPlaneObserver;
  readonly listener: LibraryListener;
  /** How child processes are started; without it by Node's `spawn`, with the system's folder for temporary files. */
  readonly children?: ChildProcesses;
  /** What an earlier process found out about model files; without it everything is found out anew. */
  readonly readings?: ReadingCache;
  /** The program of the worker processes; Millrace's own unless given. */
  readonly workerPath?: string;
  /** The system's unless given. */
  readonly clock?: Clock;
  /** Says which graphs have independent rows; the analysis in a process of its own unless given. */
  readonly analyseRows?: AnalyseRows;
  /** Told how many requests are pending. */
  readonly pendingObserver?: PendingObserver | undefined;
  /** Called with what a worker process prints; if left out, nobody sees it. */
  readonly onWorkerLine?: LocalLaneOptions['onWorkerLine'];
  /** Called with the reason when tensors are copied through the workers' sockets although shared memory is configured. */
  readonly onSharedMemoryUnavailable: (reason: string) => void;
  readonly onShadow?: (model: string, version: string, outcome: ShadowOutcome) => void;
  /** Called with the key of a traffic record in the store that cannot be read and is ignored. */
  readonly onUnreadable?: (key: string) => void;
}

export interface Assembly {
  readonly models: ServedModels;
  /** Finds models as requests name them: by version, by label or by neither. */
  readonly catalogue: TrafficCatalogue;
  readonly traffic: TrafficTable;
  readonly dataPlane: LiveDataPlane;
  readonly library: ModelLibrary;
  readonly fleet: WorkerFleet;
  /** Processes that wait for a model. */
  readonly prepared: Pick<PreparedLanes, 'standbys' | 'close'>;
  readonly cache: ResultCache;
  /** Stops following the store; the other parts are closed separately. */
  close(): void;
}

/** Rejects with a `ConfigError` when the paths cannot be used. Nothing is loaded before the library is started. */
export async function assemble(parts: AssemblyParts): Promise<Assembly> {
  const { paths, config, observer, listener } = parts;
  const models = new ServedModels(pathRedactionFor(paths));
  const scheduler = new Scheduler({
    waitingRequestsMax: config.queue.serverRequestsMax,
    waitingBytesMax: config.queue.serverBytesMax,
    callerRequestsMax: config.queue.callerRequestsMax,
  });
  const clock = parts.clock ?? systemClock;
  const random = Math.random;
  const store = parts.store ?? (await openMemoryStore());
  const traffic = await TrafficTable.open({ store, catalogue: models, onUnreadable: parts.onUnreadable ?? (() => {}) });
  const catalogue = new TrafficCatalogue({ catalogue: models, traffic });
  // What answers hold inside the server, of each kind: as much as all other memory of requests.
  const heldAnswerBytesMax = config.memory.bytesMax === 0 ? memoryBytesMaxDefault : config.memory.bytesMax;
  const dataPlane = createDataPlane({
    scheduler,
    models,
    clock,
    observer,
    demand: { bringBack: (model, deadlineAt, signal) => library.demand.bringBack(model, deadlineAt, signal) },
    names: catalogue,
    shadows: {
      limits: {
        ...defaultShadowLimits,
        requestsMax: config.shadow.requestsMax,
        bytesMax: config.shadow.bytesMax,
      },
      lowestPriority: (model, version) => models.takeModel(model, version)?.policy.queues.length ?? 1,
      onOutcome: parts.onShadow ?? (() => {}),
    },
    random,
    pendingObserver: parts.pendingObserver,
    heldAnswerBytesMax,
    onSharingStopped: (model, reason) => listener.sharingStopped(model, reason),
  });
  const runners = new Runners({
    queue: dataPlane.queue,
    inferPart: (request, signal, fit) => dataPlane.inference.inferPart(request, signal, fit),
    clock,
    observer,
    cacheLimits: {
      bytesMax: config.cache.bytesMax,
      entryBytesMax: config.cache.entryBytesMax,
      ageMsMax: config.cache.ageSecondsMax === 0 ? Number.POSITIVE_INFINITY : config.cache.ageSecondsMax * 1000,
    },
    sliced: dataPlane.sliced,
    stepBytesMax: heldAnswerBytesMax,
    // As many requests may wait for the run of an equal request as may wait in the queues.
    followerLimits: { followersMax: config.queue.serverRequestsMax, followerBytesMax: config.queue.serverBytesMax },
  });
  const { workers, roster, inspection } = dataPlane;
  const sharing = { spreadWorkers: Math.min(availableParallelism(), sharedWorkersSpreadMax) };
  const fleet = new WorkerFleet(
    {
      workers,
      roster,
      clock,
      random,
      loadMsMax: Math.ceil(config.worker.loadSecondsMax * 1000),
      listener,
      probes: new ProbeMemory(parts.probeFile),
    },
    sharing,
  );
  const { children, readings } = parts;
  const starter = children && { spawn: children.spawn };
  const analyst = new RowAnalyst({
    programPath: programs.rowAnalyst,
    ...starter,
    ...(readings && { kept: readings }),
  });
  const lanes = createLanes({
    ...starter,
    ...(children && { spawnGenerator: children.spawnGenerator }),
    workerPath: parts.workerPath,
    onWorkerLine: parts.onWorkerLine,
    socketPaths: config.worker.sockets,
    sharedMemoryBytesMax: config.worker.sharedMemory ? config.worker.sharedMemoryBytes : 0,
    isMemoryPoisoned: config.memory.poison,
    onSharedMemoryUnavailable: parts.onSharedMemoryUnavailable,
  });
  const prepared = preparedLanes(lanes, {
    clock,
    random,
    standby: { processesMax: config.worker.standby },
    onChange: () => listener.standbysChanged(prepared.standbys),
  });
  const ownWorkers = Math.min(config.models.loadsMax, availableParallelism());
  const preparation = loadPreparation({
    lane: prepared.lanes.local,
    workersMax: lanes.local.life === 'attached' ? 0 : config.worker.sharing ? sharing.spreadWorkers : ownWorkers,
    prepareAnalysis: () => {
      // A router that takes the place of another knows the verdicts.
      if (parts.analyseRows === undefined && readings?.isEmpty !== false) analyst.prepare();
    },
  });
  const opening = ModelLibrary.open({
    paths,
    source: repositoryFiles(paths, {
      gpu: gpuSupportFrom(config),
      defaults: modelDefaultsFrom(config),
      describePipeline: pipelineDescriber(children?.spawn, readings),
      isBatchingStrict: config.models.strictBatching,
      analyseRows: parts.analyseRows ?? analyst.analyse,
    }),
    share: (definitions) => shareThreads(definitions, availableParallelism(), config.worker.threads),
    lanes: { ...lanes, ...prepared.lanes },
    preparation,
    runnerOf: (model, { cache }, version) => runners.runnerOf(model, version, cache),
    roster,
    inspection,
    models,
    fleet,
    sharing: config.worker.sharing ? sharing : undefined,
    clock,
    random,
    measure: measureProcess,
    measureAside: measureProcesses,
    listener,
    keeper: { loadsMax: config.models.loadsMax, demandWaitersMax: config.models.demandWaitersMax },
    control: controlFrom(config.models, parts.isRestart === true),
    store,
    stateFolder: parts.stateFolder,
    temporaryFolder: children?.folder,
    readerGroup: children?.user?.gid,
  });
  const library = await opening.catch((error: unknown) => {
    prepared.close();
    throw error;
  });
  const close = (): void => {
    prepared.close();
    catalogue.close();
    traffic.close();
  };
  return { models, catalogue, traffic, dataPlane, library, fleet, prepared, cache: runners.cache, close };
}

/** Short enough to see a context grow in time, long enough to cost next to nothing. */
const measureMs = 5000;

function controlFrom(models: Config['models'], isRestart: boolean): LibraryControl {
  return {
    mode: models.controlMode,
    pollMs: models.pollSeconds * 1000,
    settleMs: models.settleSeconds * 1000,
    loads: models.load,
    isRestart,
    isUploadedCodeAllowed: models.allowUploadedCode,
    measureMs,
    budgetBytes: models.memoryBudget === 0 ? Number.POSITIVE_INFINITY : models.memoryBudget,
  };
}
