import { SimulationRandom } from './random.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { Timeline } from './timeline.ts';
import { Truth } from './truth.ts';
import { type Weather, weatherFrom } from './weather.ts';

/** Far from any seed that somebody asks for. */
const rareSeedOffset = 1_000_000_007;
const timerSeedOffset = 2_000_000_011;
const streamSeedOffset = 4_000_000_007;
const checkSeedOffset = 5_000_000_029;
const standbySeedOffset = 6_000_000_007;
/** Worlds with standbys. */
const standbyShare = 0.25;

/** What a seed has in store, without a simulation of it. */
export function weatherOf(seed: number): Weather {
  return weatherFrom(
    new SimulationRandom(seed),
    new SimulationRandom(seed + rareSeedOffset),
    new SimulationRandom(seed + streamSeedOffset),
  );
}

/** What everything in a simulation shares: time, chance, the facts that nobody tells the router, and the record of it all. */
export class SimulatedWorld {
  readonly timeline = new Timeline();
  readonly truth = new Truth();
  readonly random: SimulationRandom;
  /** For durable streams: worlds without them stay as they were. */
  readonly streamRandom: SimulationRandom;
  /** For comparisons of files at loads: worlds in which they take no time stay as they were. */
  readonly checkRandom: SimulationRandom;
  readonly weather: Weather;
  readonly clock: SimulatedClock;
  /** From here on nothing breaks any more that a request does not break, so that everything can come to rest. */
  calmAtMs = Number.POSITIVE_INFINITY;
  /** The router was told to end. */
  isEnding: boolean = false;
  /** The first rule that was broken. */
  failure: Error | undefined = undefined;
  /** How often each kind of event and action was seen; failures and refusals by code. */
  readonly seen = new Map<string, number>();
  readonly trace: string[] | undefined;
  #tracedAt = 0;

  /** Processes that are kept started without a model; 0: none. */
  readonly standbys: number;

  constructor(seed: number, isTraced: boolean) {
    this.random = new SimulationRandom(seed);
    this.streamRandom = new SimulationRandom(seed + streamSeedOffset);
    this.checkRandom = new SimulationRandom(seed + checkSeedOffset);
    this.weather = weatherFrom(this.random, new SimulationRandom(seed + rareSeedOffset), this.streamRandom);
    const { earlyTimer } = this.weather;
    this.clock = new SimulatedClock(this.timeline, new SimulationRandom(seed + timerSeedOffset), earlyTimer);
    this.trace = isTraced ? [] : undefined;
    const standbyRandom = new SimulationRandom(seed + standbySeedOffset);
    this.standbys = standbyRandom.chance(standbyShare) ? standbyRandom.integer(1, 2) : 0;
  }

  get isCalm(): boolean {
    return this.nowMs >= this.calmAtMs;
  }

  get nowMs(): number {
    return this.timeline.nowMs;
  }

  latencyMs(): number {
    return this.random.integer(0, this.weather.latencyMsMax);
  }

  /** Runs a check. The router may catch what is thrown inside of it, so the first failure is kept here. */
  judge(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.failure ??= error instanceof Error ? error : new Error(String(error));
    }
  }

  count(name: string): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + 1);
  }

  /** Something for the reader of the trace. */
  note(who: string, said: unknown): void {
    this.line(
      () => `# ${who}: ${JSON.stringify(said, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`,
    );
  }

  /** The trace is a scenario file: a failing seed can be made one by copying it. */
  line(format: () => string): void {
    if (this.trace === undefined) return;
    if (this.#tracedAt !== this.nowMs) {
      this.#tracedAt = this.nowMs;
      this.trace.push(`at ${this.#tracedAt}`);
    }
    this.trace.push(format());
  }
}
