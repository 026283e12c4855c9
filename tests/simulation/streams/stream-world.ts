/** One seed from start to end: a durable stream, its clients, its routers, its journal, and what goes wrong. */
import type { OpeningEntry, StreamMachineAction, StreamMachineEvent } from '@millrace/core';
import { SimulationRandom } from '../world/random.ts';
import { Timeline } from '../world/timeline.ts';
import { BentMachine, type StreamBug } from './bent-machine.ts';
import type { PlannedInput, SimulatedValue } from './reference-run.ts';
import { type ClientSurroundings, SimulatedClient } from './simulated-client.ts';
import { SimulatedConnection } from './simulated-connection.ts';
import { SimulatedHost } from './simulated-host.ts';
import { SimulatedJournal } from './simulated-journal.ts';
import { RuleBroken, StreamReferee } from './stream-referee.ts';
import { type StreamScript, streamScriptOf } from './stream-script.ts';
import { type StreamWeather, streamWeatherOf } from './stream-weather.ts';

export interface StreamSimulation {
  readonly seed: number;
  readonly failure: string | undefined;
  readonly events: number;
  /** How often each kind of event, action and ending occurred. */
  readonly seen: ReadonlyMap<string, number>;
  readonly trace: readonly string[];
}

const eventsMax = 100_000;
/** The latest time at which a world may still change: everything has expired long before. */
const timeMaxMs = 10_000_000;
const parkedSweepMs = 5_000;

export class StreamWorld implements ClientSurroundings {
  readonly seed: number;
  readonly timeline = new Timeline();
  readonly random: SimulationRandom;
  readonly weather: StreamWeather;
  readonly referee: StreamReferee;
  readonly journal: SimulatedJournal;
  readonly clients: SimulatedClient[] = [];
  readonly seen = new Map<string, number>();
  readonly trace: string[] = [];
  readonly #script: StreamScript;
  readonly #bug: StreamBug;
  readonly #isTraced: boolean;
  #hosts: SimulatedHost[] = [];
  #hostCount = 0;
  #linkCount = 0;
  #keptUntil = 0;
  events = 0;

  constructor(seed: number, bug: StreamBug, isTraced: boolean) {
    this.seed = seed;
    this.#bug = bug;
    this.#isTraced = isTraced;
    this.weather = streamWeatherOf(new SimulationRandom(seed));
    this.random = new SimulationRandom(seed ^ 0x5eed);
    this.#script = streamScriptOf(seed, this.weather);
    this.referee = new StreamReferee(this.#script, this.seen);
    this.journal = new SimulatedJournal({
      timeline: this.timeline,
      random: this.random,
      commitMsMax: this.weather.commitMsMax,
      entriesMax: this.weather.logEntriesMax,
      isUnfenced: bug.isUnfenced === true,
      onDurable: (entry, number) => {
        this.note(`durable ${number} ${entry.kind}`);
        this.referee.noteDurable(entry, number);
      },
      onTrim: (entries) => this.referee.noteTrim(entries),
    });
  }

  run(): void {
    const { weather, timeline, random } = this;
    for (let id = 0; id < weather.clients; id++) {
      const client = new SimulatedClient(id, this);
      this.clients.push(client);
      timeline.at(id === 0 ? 0 : random.integer(0, weather.faultsUntil), () => client.connect());
    }
    this.#every(weather.cutMs, () => random.pick(this.clients).cut());
    this.#every(weather.crashMs, () => {
      this.#host?.crash();
      this.startLater();
    });
    this.#every(weather.takeOverMs, () => this.#start());
    this.#every(weather.unknownMs, () => {
      this.journal.isNextUnknown = true;
    });
    this.#every(weather.scarceMs, () => this.#beScarce());
    this.#every(weather.drainMs, () => this.#host?.handle({ kind: 'draining' }));
    this.#once(weather.leavesAt, () => {
      for (const client of this.clients) client.leave();
    });
    this.#once(weather.cancelsAt, () => this.clients[0]?.cancel());
    const error = { code: 'model-unloaded', message: 'simulated' };
    this.#once(weather.modelLostAt, () => this.#host?.handle({ kind: 'model-lost', error }));
    timeline.at(weather.faultsUntil, () => {
      this.journal.isNextUnknown = false;
      this.#setScarce(false);
      this.startLater();
    });
    while (timeline.step()) {
      this.events += 1;
      if (this.events > eventsMax || timeline.nowMs > timeMaxMs) this.referee.fail('the world does not come to rest');
    }
    this.referee.checkEnd(
      this.clients.map(({ outcome }) => outcome),
      weather.clients > 1 || weather.timeToLiveMs < 3_600_000,
      this.journal.isRemoved,
    );
  }

  /** Undefined: there is no such stream any more. */
  connect(client: SimulatedClient, resumeAfter: number): SimulatedConnection | undefined {
    if (this.journal.isRemoved) return undefined;
    const host = this.#host ?? this.#start();
    this.#linkCount += 1;
    const connection = new SimulatedConnection(this.#linkCount, client, host, this);
    this.timeline.after(this.random.next() * this.weather.linkMsMax, () => {
      // A connection that broke before the router knew of it is never attached.
      if (host.isGone) connection.cut();
      else if (connection.isOpen) host.attach(connection, resumeAfter);
    });
    return connection;
  }

  planned(sequence: number): PlannedInput {
    return this.#script.planned(sequence);
  }

  inputPauseMs(): number {
    return 0;
  }

  /** Whatever a link is closed with, the stream can be resumed. */
  outcomeOf(): undefined {
    return undefined;
  }

  /** A router that starts takes over the streams that nobody owns. */
  startLater(): void {
    this.timeline.after(this.random.integer(10, 1_500), () => {
      if (this.#host === undefined && !this.journal.isRemoved && !this.journal.isParked) this.#start();
    });
  }

  /** An ended stream stays in the journal until then, and longer while a router has it for a client. */
  keep(until: number): void {
    this.journal.isParked = true;
    this.#keptUntil = until;
    this.timeline.at(until, () => this.#sweep());
  }

  remove(): void {
    this.journal.isRemoved = true;
  }

  note(line: string): void {
    if (this.#isTraced) this.trace.push(`${this.timeline.nowMs.toFixed(3)} ${line}`);
  }

  noteEvent(router: number, event: StreamMachineEvent<SimulatedValue>): void {
    if (this.#isTraced) this.note(`router ${router} <- ${JSON.stringify(event)}`);
  }

  noteAction(router: number, action: StreamMachineAction<SimulatedValue>): void {
    if (this.#isTraced) this.note(`router ${router} -> ${JSON.stringify(action)}`);
  }

  /** The router that took the stream over last, if it still has it. */
  get #host(): SimulatedHost | undefined {
    const last = this.#hosts.at(-1);
    return last?.isGone === false ? last : undefined;
  }

  #sweep(): void {
    if (this.timeline.nowMs < this.#keptUntil) return;
    if (this.#host === undefined) this.remove();
    else this.timeline.after(parkedSweepMs, () => this.#sweep());
  }

  /** Another router takes the stream over, whether or not the one before is alive. */
  #start(): SimulatedHost {
    this.#hostCount += 1;
    const host = new SimulatedHost(this.#hostCount, this);
    this.note(`router ${host.id} takes over`);
    this.#hosts = [...this.#hosts.filter(({ isGone }) => !isGone), host];
    const { journal, timeline } = this;
    const log = journal.takeOver(host);
    const entries = [...journal.snapshot, ...journal.entries];
    const { nowMs } = timeline;
    const { config, timeToLiveMs } = this.weather;
    const opening: OpeningEntry<SimulatedValue> = {
      kind: 'opening',
      payload: { byteLength: 10, value: this.seed },
      expiresAt: nowMs + timeToLiveMs,
    };
    const machine =
      entries.length === 0
        ? BentMachine.open(opening, config, this.#bug, nowMs)
        : BentMachine.restore(entries, journal.last, config, this.#bug, nowMs, journal.idle);
    host.start(log, machine);
    if (journal.isScarce) host.handle({ kind: 'journal', isScarce: true });
    return host;
  }

  #beScarce(): void {
    if (this.journal.isScarce) return;
    this.#setScarce(true);
    this.timeline.after(this.random.next() * this.weather.scarceMsMax, () => this.#setScarce(false));
  }

  #setScarce(isScarce: boolean): void {
    if (this.journal.isScarce === isScarce) return;
    this.journal.isScarce = isScarce;
    // Each router sees it, also one that does not know that another has taken over.
    for (const host of this.#hosts) host.handle({ kind: 'journal', isScarce });
  }

  #once(at: number, happen: () => void): void {
    if (at !== Number.POSITIVE_INFINITY) this.timeline.at(at, happen);
  }

  #every(averageMs: number, happen: () => void): void {
    if (averageMs === Number.POSITIVE_INFINITY) return;
    this.timeline.after(this.random.next() * 2 * averageMs, () => {
      if (this.timeline.nowMs >= this.weather.faultsUntil || this.journal.isRemoved) return;
      happen();
      this.#every(averageMs, happen);
    });
  }
}

export function simulateStream(seed: number, bug: StreamBug = {}, isTraced: boolean = false): StreamSimulation {
  const world = new StreamWorld(seed, bug, isTraced);
  let failure: string | undefined;
  try {
    world.run();
  } catch (error) {
    // A broken rule, or an invariant of the machine itself.
    failure = error instanceof RuleBroken ? error.message : String((error as Error).stack);
  }
  return { seed, failure, events: world.events, seen: world.seen, trace: world.trace };
}
