/**
 * The router's shell as a server assembles it: the real data plane, fleet, life cycle and catalogue, over the clock, the
 * lane and the repository of a simulated world. What decides is watched by referees, and may be replaced by one with a
 * planted bug; so may each seam between the parts.
 */
import { type ContextUse, Keeper, type KeeperConfig, Scheduler, type SchedulerOptions } from '@millrace/core';
import type { Lane } from '@millrace/protocol';
import {
  type ServedModel,
  ServedModels,
  TrafficCatalogue,
  type TrafficCatalogueParts,
} from '@millrace/router/catalogue';
import {
  type Clock,
  createDataPlane,
  type DrivenKeeper,
  type LibraryListener,
  type LiveDataPlane,
  ModelLibrary,
  type ModelLibraryParts,
  PreparedLane,
  Runners,
  type StreamGateway,
  silentLibraryListener,
  silentObserver,
  TrafficTable,
  WorkerFleet,
} from '@millrace/router/internal';
import { openMemoryStore } from '@millrace/store';
import type { StreamHostParts } from './hosted/host-process.ts';
import type { SimulatedLane } from './lane/simulated-lane.ts';
import { JudgedKeeper } from './referees/judged-keeper.ts';
import type { LibraryReferee } from './referees/library-referee.ts';
import type { JudgedScheduler, SimulatedScheduler } from './referees/scheduler/judged-scheduler.ts';
import type { SimulatedRepository } from './repository/simulated-repository.ts';
import { SimulationRandom } from './world/random.ts';
import type { SimulatedWorld } from './world/simulated-world.ts';

/** The seams between the parts of the shell, as each part is given them. */
export interface ShellSeams {
  readonly workers: LiveDataPlane['workers'];
  readonly roster: LiveDataPlane['roster'];
  readonly demand: Parameters<typeof createDataPlane>[0]['demand'];
  readonly fleetClock: Clock;
  readonly lane: Lane;
  readonly inferPart: ConstructorParameters<typeof Runners>[0]['inferPart'];
  readonly runnerOf: ModelLibraryParts['runnerOf'];
  readonly source: ModelLibraryParts['source'];
  readonly streamHost: StreamHostParts;
  readonly streamGateway: StreamGateway;
}

/** Puts something with a bug in the place of a seam. */
export type BentSeams = { readonly [Seam in keyof ShellSeams]?: (real: ShellSeams[Seam]) => ShellSeams[Seam] };

/** The parts that decide, and the seams; each may be replaced by one with a planted bug. */
export interface Deciders {
  readonly createScheduler: (options: SchedulerOptions) => SimulatedScheduler;
  readonly createKeeper: (use: ContextUse, config: Partial<KeeperConfig>) => DrivenKeeper;
  readonly createModels: () => ServedModels;
  readonly createCatalogue: (
    parts: TrafficCatalogueParts,
  ) => Pick<TrafficCatalogue, 'isResolvable' | 'resolve' | 'shadowsOf' | 'readyVersions'>;
  readonly seams: BentSeams;
}

export const ours: Deciders = {
  createScheduler: (options) => new Scheduler(options),
  createKeeper: (use, config) => new Keeper(use, config),
  createModels: () => new ServedModels(),
  createCatalogue: (parts) => new TrafficCatalogue(parts),
  seams: {},
};

export interface ShellParts {
  readonly world: SimulatedWorld;
  readonly deciders: Deciders;
  readonly scheduler: JudgedScheduler;
  readonly libraryReferee: LibraryReferee;
  readonly lane: SimulatedLane;
  readonly repository: SimulatedRepository;
  /** A worker that loads for longer is killed. */
  readonly loadMsMax: number;
  /** Called for each model of a new revision, before the revision is wanted. */
  readonly onMade: (context: string, model: ServedModel) => void;
}

export interface OpenedShell {
  readonly models: ServedModels;
  readonly traffic: TrafficTable;
  readonly dataPlane: LiveDataPlane;
  readonly library: ModelLibrary;
  /** Ends it as a server does: resolves when the last request is answered and the last worker has ended. */
  end(): Promise<void>;
}

const shellSeedOffset = 3_000_000_019;
const pollMs = 2000;
const settleMs = 30;
const measureMs = 5000;
const standbyCalmMs = 50;
const shadowMs = 2000;

export async function openShell(parts: ShellParts): Promise<OpenedShell> {
  const { world, deciders, scheduler, libraryReferee, lane, repository } = parts;
  const { clock, weather } = world;
  const shellRandom = new SimulationRandom(Math.floor(world.random.next() * shellSeedOffset));
  const random = (): number => shellRandom.next();
  const bent = <Seam extends keyof ShellSeams>(seam: Seam, real: ShellSeams[Seam]): ShellSeams[Seam] =>
    (deciders.seams[seam] as ((real: ShellSeams[Seam]) => ShellSeams[Seam]) | undefined)?.(real) ?? real;
  const models = deciders.createModels();
  const store = await openMemoryStore(clock);
  const traffic = await TrafficTable.open({ store, catalogue: models, onUnreadable: () => {} });
  const catalogue = deciders.createCatalogue({ catalogue: models, traffic });
  const dataPlane = createDataPlane({
    scheduler,
    models,
    clock,
    observer: silentObserver,
    demand: bent('demand', {
      bringBack: (model, deadlineAt, signal) => library.demand.bringBack(model, deadlineAt, signal),
    }),
    names: catalogue,
    shadows: {
      limits: { requestsMax: 5, bytesMax: 10_000, comparedBytesMax: 10_000, timeoutMs: shadowMs },
      lowestPriority: (model, version) => models.takeModel(model, version)?.policy.queues.length ?? 1,
      onOutcome: (_model, _version, outcome) => world.count(`shadow: ${outcome}`),
    },
    random,
  });
  const runners = new Runners({
    queue: dataPlane.queue,
    inferPart: bent('inferPart', (request, signal, fit) => dataPlane.inference.inferPart(request, signal, fit)),
    clock,
    observer: silentObserver,
    cacheLimits: { bytesMax: 100_000, entryBytesMax: 10_000, ageMsMax: Number.POSITIVE_INFINITY },
    sliced: dataPlane.sliced,
    followerLimits: { followersMax: 1000, followerBytesMax: 1_000_000 },
    stepBytesMax: 1_000_000,
  });
  const listener = listenerFor(libraryReferee);
  const workers = bent('workers', dataPlane.workers);
  const roster = bent('roster', dataPlane.roster);
  const fleet = new WorkerFleet({
    workers,
    roster,
    clock: bent('fleetClock', clock),
    random,
    loadMsMax: parts.loadMsMax,
    listener,
  });
  const runnerOf = bent('runnerOf', (model, { cache }, version) => runners.runnerOf(model, version, cache));
  const prepared = new PreparedLane({
    lane: bent('lane', lane),
    clock,
    random,
    standby: { processesMax: world.standbys, calmMs: standbyCalmMs },
  });
  const library = await ModelLibrary.open({
    paths: ['/models'],
    source: bent('source', repository),
    sharing: weather.sharesWorkers ? {} : undefined,
    share: () => ({ threads: 1, isSpinning: false }),
    lanes: { inline: prepared, local: prepared, pipeline: prepared, generator: prepared },
    runnerOf: (model, definition, version) => {
      const { isGroupShared, workerGroup } = definition;
      parts.onMade(isGroupShared ? workerGroup : `${definition.name}:${version.version}`, model);
      return runnerOf(model, definition, version);
    },
    roster,
    inspection: dataPlane.inspection,
    models,
    fleet,
    clock,
    random,
    measure: (pid) => lane.measure(pid),
    listener,
    keeper: weather.keeper,
    createKeeper: (use, config) => new JudgedKeeper(world, deciders.createKeeper(use, config), libraryReferee),
    control: {
      mode: 'poll',
      pollMs,
      settleMs,
      loads: [],
      isRestart: false,
      isUploadedCodeAllowed: false,
      measureMs,
      budgetBytes: weather.budgetBytes,
    },
    store,
    stateFolder: undefined,
    temporaryFolder: undefined,
    readerGroup: undefined,
  });
  const end = async (): Promise<void> => {
    dataPlane.endShadows();
    library.close();
    prepared.close();
    await dataPlane.drain();
    libraryReferee.noteEnding();
    await fleet.stop();
    traffic.close();
  };
  return { models, traffic, dataPlane, library, end };
}

/** What the library tells its log is what an operator can know of models. */
function listenerFor(referee: LibraryReferee): LibraryListener {
  return {
    ...silentLibraryListener,
    modelReady: (model) => referee.noteServed(model),
    modelFailed: (model) => referee.noteUnservable(model),
  };
}
