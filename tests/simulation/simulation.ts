/**
 * One router, its workers and its callers in a virtual world that a seed determines. The router is the real one, from the
 * data plane's interface for edges down to its lanes; clock, workers and repository are simulated, and give it a weather of
 * crashes, hangs, floods, cancels, reloads, evictions and moved labels. Every decision is judged when it is made, and every
 * answer when it arrives, by referees that share no code with the router; at the end nothing may be left.
 */
import type { ServedModel } from '@millrace/router/catalogue';
import { Callers } from './callers/callers.ts';
import { Operator } from './callers/operator.ts';
import { Traffic } from './callers/traffic.ts';
import { HostedStreams } from './hosted/hosted-streams.ts';
import { SimulatedLane } from './lane/simulated-lane.ts';
import { CallReferee } from './referees/call-referee.ts';
import { LaneReferee } from './referees/lane-referee.ts';
import { LibraryReferee } from './referees/library-referee.ts';
import { JudgedScheduler } from './referees/scheduler/judged-scheduler.ts';
import { SchedulerReferee } from './referees/scheduler/scheduler-referee.ts';
import { claimServed } from './referees/served-files.ts';
import { isForStreams, modelsFor, streamedVersions } from './repository/layout.ts';
import { SimulatedRepository } from './repository/simulated-repository.ts';
import { type Deciders, type OpenedShell, openShell, ours } from './shell.ts';
import { runTimeline } from './world/run-timeline.ts';
import { SimulatedWorld } from './world/simulated-world.ts';
import { claim } from './world/truth.ts';
import type { WorldLimits } from './world/weather.ts';

/** How long the world is left alone before it ends: longer than any pause before another attempt. */
const calmMs = 60_000;
/** As the fleet has it. */
const stopMsMax = 5000;

export interface SimulationResult {
  readonly seed: number;
  readonly eventCount: number;
  /** How often each kind of event and action was seen; failures and refusals by code. */
  readonly seen: ReadonlyMap<string, number>;
  /** Why the seed failed; undefined when it did not. */
  readonly failure: string | undefined;
  /** Present when asked for: a scenario file up to the failure. */
  readonly trace: readonly string[] | undefined;
}

export interface SimulationOptions extends Partial<Deciders> {
  readonly isTraced?: boolean;
}

export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const deciders: Deciders = { ...ours, ...options };
  const world = new SimulatedWorld(seed, options.isTraced === true);
  world.trace?.push(optionsLine(world.weather.limits));
  const simulation = new Simulation(world, deciders);
  const failure = await runTimeline(world, () => simulation.start());
  if (failure === undefined) world.judge(() => simulation.atEnd());
  const broken = failure ?? world.failure;
  return {
    seed,
    eventCount: simulation.eventCount,
    seen: world.seen,
    failure: broken && `at ${world.nowMs} ms: ${broken.message}`,
    trace: world.trace,
  };
}

class Simulation {
  readonly #world: SimulatedWorld;
  readonly #deciders: Deciders;
  readonly #repository: SimulatedRepository;
  readonly #scheduler: JudgedScheduler;
  readonly #libraryReferee: LibraryReferee;
  readonly #callReferee: CallReferee;
  readonly #laneReferee: LaneReferee;
  readonly #lane: SimulatedLane;
  readonly #loadMsMax: number;
  /** By context: the models of revisions that are made and not yet wanted. */
  readonly #made = new Map<string, ServedModel[]>();
  /** Undefined: the world has none. */
  #streams: HostedStreams | undefined;
  #hasEnded: boolean = false;

  constructor(world: SimulatedWorld, deciders: Deciders) {
    this.#world = world;
    this.#deciders = deciders;
    const { weather } = world;
    const { limits, budgetBytes, keeper } = weather;
    // All models of a group load one after the other.
    this.#loadMsMax = 200 + weather.modelCount * weather.loadMsMax;
    this.#repository = new SimulatedRepository(world);
    const inner = deciders.createScheduler(limits);
    const referee = new SchedulerReferee(limits, (nowMs) => inner.instances(nowMs));
    this.#libraryReferee = new LibraryReferee({
      limits: { ...keeper, budgetBytes, hasPins: weather.pinned > 0 },
      isIdle: (model) => referee.isIdle(model),
      takeServer: (model, isForAll) => referee.takeServer(model, isForAll),
      hasOtherFiles: ({ view }) => this.#repository.replacedAt(Number(view.config.stamp)) !== undefined,
      takeMade: (context) => this.#takeMade(context),
      onLost: (model) => this.#callReferee.noteLost(model),
      isEnsemble: ({ view }) => view.name.startsWith('ensemble'),
      isPinned: (model) => this.#streams?.isPinned(model) === true,
      onChange: () => this.#callReferee.review(),
    });
    this.#callReferee = new CallReferee(world, this.#libraryReferee);
    this.#laneReferee = new LaneReferee(world, this.#repository, { loadMsMax: this.#loadMsMax, stopMsMax });
    this.#lane = new SimulatedLane({ world, repository: this.#repository, referee: this.#laneReferee });
    this.#scheduler = new JudgedScheduler(world, inner, referee, {
      arrives: (model) => this.#libraryReferee.claimServing(model),
      refused: (model, code, request) => this.#libraryReferee.claimLost(model, code, request),
      adds: (model, requestCount) => this.#libraryReferee.noteAdded(model, requestCount),
      removes: (model) => this.#libraryReferee.claimRemovable(model),
    });
  }

  get eventCount(): number {
    return this.#scheduler.eventCount;
  }

  async start(): Promise<void> {
    const world = this.#world;
    const models = modelsFor(world);
    const repository = this.#repository;
    for (const model of models) if (world.random.chance(0.8) || isForStreams(model)) repository.add(model);
    const shell = await openShell({
      world,
      deciders: this.#deciders,
      scheduler: this.#scheduler,
      libraryReferee: this.#libraryReferee,
      lane: this.#lane,
      repository,
      loadMsMax: this.#loadMsMax,
      onMade: (context, model) => {
        this.#made.set(context, [...(this.#made.get(context) ?? []), model]);
        this.#laneReferee.noteMade(model);
      },
    });
    shell.library.start(streamedVersions(world.weather, models));
    const { streams: weather } = world.weather;
    if (weather !== undefined) {
      const { seams } = this.#deciders;
      const isUnserved = (model: string): boolean => this.#libraryReferee.wasReplacedUnserved(model);
      this.#streams = new HostedStreams({ world, weather, shell, models, repository, seams, isUnserved });
      this.#streams.start();
    }
    const callers = new Callers(world, shell.dataPlane, this.#callReferee);
    const operator = new Operator(world, shell, this.#callReferee);
    const onDone = (): void => this.#calm(shell, traffic);
    const traffic = new Traffic({ world, models, repository, lane: this.#lane, callers, operator, onDone });
    if (world.random.chance(world.weather.earlyEnd)) {
      world.timeline.after(world.random.integer(0, 1000), () => void this.#end(shell));
    }
  }

  /** What has to be true when nothing is left to happen. */
  atEnd(): void {
    claim(this.#hasEnded, 'the router was told to end, and does not');
    this.#callReferee.atEnd();
    this.#scheduler.atEnd();
    this.#laneReferee.atEnd();
  }

  /** The weather ends: workers take work again, and everything has time to come to rest before the router is ended. */
  #calm(shell: OpenedShell, traffic: Traffic): void {
    const world = this.#world;
    world.calmAtMs = world.nowMs;
    this.#repository.calm();
    this.#streams?.calm();
    this.#lane.changeCredit(1);
    world.timeline.after(calmMs, () => {
      if (!world.isEnding) {
        world.judge(() => {
          this.#callReferee.atEnd();
          this.#streams?.atEnd();
          this.#libraryReferee.atEnd();
          claimServed({
            shell,
            repository: this.#repository,
            lane: this.#lane,
            weather: world.weather,
            library: this.#libraryReferee,
          });
        });
      }
      traffic.last();
      void this.#end(shell);
      traffic.last();
      world.timeline.after(3, () => traffic.last());
    });
  }

  async #end(shell: OpenedShell): Promise<void> {
    if (this.#world.isEnding) return;
    this.#world.isEnding = true;
    this.#streams?.drain();
    await shell.end();
    await this.#streams?.close();
    this.#hasEnded = true;
  }

  #takeMade(context: string): readonly ServedModel[] {
    const made = this.#made.get(context) ?? [];
    this.#made.delete(context);
    return made;
  }
}

/** How to reproduce a failing seed. */
export function describeFailure(result: SimulationResult): string {
  const command = `npx tsc -b && node tests/dist/simulation/main.js --from ${result.seed} --seeds 1`;
  return `seed ${result.seed} failed ${result.failure}\nsee it with its trace: ${command}`;
}

/** The limits as the first line of a scenario file. */
function optionsLine(limits: WorldLimits): string {
  const { waitingRequestsMax, waitingBytesMax, callerRequestsMax, lookAheadMax, retry, breaker } = limits;
  const waiting = `waiting-requests-max=${waitingRequestsMax} waiting-bytes-max=${waitingBytesMax} caller-requests-max=${callerRequestsMax}`;
  const retries = `retry.deaths-max=${retry.deathsMax} retry.kills-max=${retry.killsMax} retry.requeues-max=${retry.requeuesMax}`;
  const opening = `breaker.consecutive-max=${breaker.consecutiveMax} breaker.open-ms=${breaker.openMs} breaker.open-ms-max=${breaker.openMsMax}`;
  return `options ${waiting} look-ahead-max=${lookAheadMax} ${retries} ${opening}`;
}
