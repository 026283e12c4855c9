/**
 * The durable streams of a world: the real stream host over the real data plane, its journal on a simulated disk, its
 * clients, and what goes wrong. A router that dies is a process with a stream host that dies and is replaced, over the same disk;
 * the data plane and the workers below live on, and die by themselves.
 */
import type { InferenceError, OpenFrame } from '@millrace/protocol';
import type { InferRequest } from '@millrace/router';
import { questionOf } from '../lane/rows.ts';
import type { WorldModel } from '../repository/layout.ts';
import type { SimulatedRepository } from '../repository/simulated-repository.ts';
import type { BentSeams, OpenedShell } from '../shell.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { StreamHostWeather } from '../world/stream-host-weather.ts';
import { claim } from '../world/truth.ts';
import { HostProcess } from './host-process.ts';
import { judgedJournal } from './judged-journal.ts';
import { JudgedStream } from './judged-stream.ts';
import { SimulatedDisk } from './simulated-disk.ts';
import { type ReachableHost, StreamClients } from './stream-clients.ts';
import { decideNatures, hasStreams, streamPlanFrom } from './stream-plan.ts';
import { tensorValue } from './stream-values.ts';

export interface HostedStreamsParts {
  readonly world: SimulatedWorld;
  readonly weather: StreamHostWeather;
  readonly shell: OpenedShell;
  readonly models: readonly WorldModel[];
  readonly repository: SimulatedRepository;
  readonly isUnserved: (model: string) => boolean;
  readonly seams: Pick<BentSeams, 'streamGateway' | 'streamHost'>;
}

export class HostedStreams {
  readonly #parts: HostedStreamsParts;
  readonly #disk: SimulatedDisk;
  readonly #streams = new Map<string, JudgedStream>();
  readonly #clients: StreamClients[] = [];
  readonly #processes: HostProcess[] = [];
  #host: ReachableHost | undefined;
  #linkCount = 0;

  constructor(parts: HostedStreamsParts) {
    this.#parts = parts;
    const { world, weather } = parts;
    this.#disk = new SimulatedDisk(world, weather.commitMsMax);
  }

  start(): void {
    const { world, weather, models, repository, isUnserved } = this.#parts;
    const { streamRandom: random, timeline, truth } = world;
    this.#begin();
    const usable = models.filter(hasStreams);
    for (let index = 1; index <= weather.streamCount; index++) {
      const plan = streamPlanFrom(index, usable, weather, random);
      decideNatures(plan, truth, random, world.weather);
      const stream = new JudgedStream({ plan, world, weather, repository, isUnserved });
      this.#streams.set(plan.id, stream);
      const newLinkId = (): number => {
        this.#linkCount += 1;
        return this.#linkCount;
      };
      const clients = new StreamClients({ world, weather, stream, takeHost: () => this.#host, newLinkId });
      this.#clients.push(clients);
      timeline.after(random.integer(0, weather.openMsMax), () => clients.start());
    }
    this.#every(weather.cutMs, () => {
      for (const client of random.pick(this.#clients).clients) if (random.chance(0.7)) client.cut();
    });
    this.#every(weather.deathMs, () => this.#replace(random.chance(weather.zombieShare) ? 'hangs' : 'dies'));
    this.#every(weather.drainMs, () => this.#replace('drains'));
    this.#every(weather.unknownMs, () => {
      this.#disk.isNextUnknown = true;
    });
    this.#every(weather.reloadMs, () => this.#reload(random.pick(usable)));
    this.#every(weather.strangerMs, () => this.#ask(random.pick([...this.#streams.values()])));
  }

  /** A model of streams is served until they let go of it. */
  isPinned(key: string): boolean {
    return this.#processes.some((process) => process.holds(key));
  }

  /** Nothing goes wrong any more. */
  calm(): void {
    this.#disk.isNextUnknown = false;
  }

  /** The router leaves. */
  drain(): void {
    this.#host?.process.host.drain();
  }

  async close(): Promise<void> {
    this.#host = undefined;
    await this.#processes.at(-1)?.close();
    for (const process of this.#processes) process.die();
  }

  /** Every client knows how its stream ended, and every stream has ended. */
  atEnd(): void {
    for (const clients of this.#clients) {
      for (const client of clients.clients) {
        this.#parts.world.count(`stream client: ${client.outcome}`);
      }
    }
    for (const { clients } of this.#clients) {
      for (const { outcome, id } of clients) claim(outcome !== undefined, `client ${id} of a stream waits for ever`);
    }
    for (const { plan, isOpened, referee, mayBeAbandoned } of this.#streams.values()) {
      const isMissed = mayBeAbandoned || this.#host?.process.hasMissed(plan.id) === true;
      claim(!isOpened || isMissed || referee.ending !== undefined, `${plan.id} has no ending`);
    }
    const pins = this.#processes.reduce((sum, process) => sum + process.pins, 0);
    claim(pins === 0, `${pins} versions are still held for streams that have ended`);
    const { attached, detached } = this.#host?.process.host.counts ?? { attached: 0, detached: 0 };
    claim(attached + detached === 0, `${attached + detached} streams are open, though all have ended`);
  }

  #begin(): void {
    const { world, weather, shell, repository, seams } = this.#parts;
    const running = new Map<string, number>();
    const process = new HostProcess({
      world,
      weather,
      shell,
      disk: this.#disk.open(),
      judged: (journal) => judgedJournal(journal, world, (id) => this.#mustStream(id)),
      digestOf: (path) => this.#digestOf(path, repository),
      onStep: (request) => this.#noteStep(request, running),
      bend: (real) => seams.streamHost?.(real) ?? real,
    });
    this.#processes.push(process);
    const gateway = seams.streamGateway?.(process.host) ?? process.host;
    this.#host = { process, gateway, connections: new Set() };
    if (this.#processes.length > 1) void process.restore();
  }

  /** `hangs`: it comes back after another process has taken its streams over. */
  #replace(how: 'dies' | 'drains' | 'hangs'): void {
    const { world } = this.#parts;
    const { timeline, streamRandom: random } = world;
    const host = this.#host;
    if (host === undefined) return;
    world.note('process of the stream host', how);
    world.count(`streams: process ${how}`);
    this.#host = undefined;
    for (const stream of this.#streams.values()) stream.lost(host);
    const { process, connections } = host;
    const end = (): void => {
      process.die();
      for (const connection of connections) connection.cut();
    };
    if (how === 'dies') end();
    else {
      if (how === 'drains') process.host.drain();
      timeline.after(random.integer(200, 3000), end);
    }
    timeline.after(random.integer(10, 1500), () => {
      if (!world.isEnding) this.#begin();
    });
  }

  #reload(model: WorldModel): void {
    const { repository, world } = this.#parts;
    if (!repository.has(model.name)) repository.add(model);
    else if (world.streamRandom.chance(0.8)) repository.change(model.name);
    else repository.remove(model.name);
  }

  /** Somebody who may not have the stream asks for it, or its own client asks for something else. */
  #ask({ plan, isOpened, referee, hasExpired }: JudgedStream): void {
    const { world } = this.#parts;
    const host = this.#host;
    if (host === undefined) return;
    const isStranger = world.streamRandom.chance(0.5);
    // Once it is gone its id is free.
    if (!isStranger && (!isOpened || referee.ending !== undefined || hasExpired)) return;
    const open: OpenFrame = {
      kind: 'open',
      streamId: plan.id,
      mode: isStranger ? 'resume' : 'either',
      context: isStranger ? '' : plan.context,
      parameters: isStranger ? {} : { other: true },
      resumeAfter: 0,
      protocolVersions: [1],
    };
    const caller = { caller: 'stranger', principal: isStranger ? 'mallory' : plan.caller.principal };
    const claimRefused = (error: InferenceError | undefined): void => {
      const passing = ['draining', 'journal-unavailable', 'model-not-ready'];
      const expected = isStranger ? ['stream-not-found'] : ['stream-conflict', 'stream-not-found'];
      const isExpected = error !== undefined && [...expected, ...passing].includes(error.code);
      claim(isExpected, `somebody else who asks for ${plan.id} is answered ${error?.code}`);
      world.count(`stranger: ${error.code}`);
    };
    host.gateway.attach(
      open,
      caller,
      { isAcknowledging: true },
      {
        onFrame: ({ kind }) => world.judge(() => claim(false, `somebody else is sent ${kind} of ${plan.id}`)),
        onClosed: (error) => {
          if (!host.process.isDead) world.judge(() => claimRefused(error));
        },
      },
    );
  }

  /** Counts the steps of each stream in one process. */
  #noteStep(request: InferRequest, running: Map<string, number>): (refusal?: unknown) => void {
    const { world } = this.#parts;
    const question = questionOf(tensorValue(request.inputs, 'x') ?? 0);
    const stream = [...this.#streams.values()].find(({ plan }) => {
      const index = question - plan.firstQuestion;
      return index >= 1 && index <= plan.weather.inputs;
    });
    world.judge(() => claim(stream !== undefined, `a step asks question ${question}, which no stream does`));
    if (stream === undefined) return () => {};
    const { id } = stream.plan;
    const count = (running.get(id) ?? 0) + 1;
    running.set(id, count);
    world.judge(() => {
      claim(count <= stream.stepsMax, `${id} runs ${count} steps at once`);
      stream.asked(request, question);
    });
    return (refusal) => {
      running.set(id, (running.get(id) ?? 0) - 1);
      if (refusal !== undefined) stream.refused(refusal);
    };
  }

  /** What the folder of a version holds when it is read. */
  async #digestOf(path: string, repository: SimulatedRepository): Promise<string> {
    const { timeline, streamRandom: random } = this.#parts.world;
    const readMs = random.integer(0, this.#parts.weather.digestMsMax);
    if (readMs > 0) await new Promise<void>((resolve) => void timeline.after(readMs, resolve));
    const [, , name = '', version = ''] = path.split('/');
    const stamp = repository.takeStamp(name, version);
    if (stamp === undefined) throw new Error(`no such file: ${name}/${version}`);
    return `${stamp}`;
  }

  #mustStream(id: string): JudgedStream {
    const stream = this.#streams.get(id);
    if (stream === undefined) throw new Error(`nobody asked for ${id}`);
    return stream;
  }

  #every(averageMs: number, happen: () => void): void {
    const { world } = this.#parts;
    if (averageMs === Number.POSITIVE_INFINITY) return;
    world.timeline.after(world.streamRandom.next() * 2 * averageMs, () => {
      if (world.isCalm || world.isEnding) return;
      happen();
      this.#every(averageMs, happen);
    });
  }
}
