/** Everything that comes from outside: requests in bursts and floods, cancels, models and workers that come and go. */
import type { SchedulerEvent } from '@millrace/core';
import type { Front } from './front.ts';
import { contextsFor, type SimulatedContext } from './layout.ts';
import type { Library } from './library.ts';
import { labels, type Operator } from './operator.ts';
import { policyFor } from './policies.ts';
import type { Router } from './router.ts';
import type { SimulatedWorld } from './simulated-worker.ts';

const strangeModel = 'nobody:1';

export interface TrafficParts {
  readonly world: SimulatedWorld;
  readonly router: Router;
  readonly library: Library;
  readonly front: Front;
  readonly operator: Operator;
}

export class Traffic {
  readonly #parts: TrafficParts;
  readonly #world: SimulatedWorld;
  readonly #contexts: readonly SimulatedContext[];
  readonly #names: readonly string[];
  /** Keys that were sent to at some time, for requests that come too late. */
  readonly #pastKeys: string[] = [];
  #requestCount = 0;

  constructor(parts: TrafficParts) {
    this.#parts = parts;
    const { world, router, library } = parts;
    this.#world = world;
    this.#contexts = contextsFor(world);
    this.#names = [...new Set(this.#contexts.flatMap(({ members }) => members.map(({ name }) => name)))];
    for (const context of this.#contexts) if (world.random.chance(0.8)) library.want(context);
    if (world.random.chance(world.weather.earlyDrain)) {
      world.timeline.at(world.random.integer(0, 500), () => router.tell({ kind: 'drain-started' }));
    }
    // Requests that come before anything is loaded show little.
    world.timeline.after(world.random.integer(0, world.weather.loadMsMax), () => this.#scheduleBurst());
  }

  #scheduleBurst(): void {
    const { random, timeline, weather } = this.#world;
    timeline.after(random.integer(0, weather.gapMsMax), () => {
      this.#burst();
      if (this.#requestCount < weather.requestCount && timeline.nowMs < this.#world.calmAt) this.#scheduleBurst();
      else timeline.at(this.#world.calmAt, () => this.#calm());
    });
  }

  #burst(): void {
    const { random, weather } = this.#world;
    const { library, router } = this.#parts;
    if (random.chance(weather.flood)) {
      const [address, caller] = [this.#address(), this.#caller()];
      for (let index = 0; index < 40; index++) this.#request(address, caller);
    } else {
      const size = random.chance(weather.stampede) ? 110 : random.integer(1, weather.burstMax);
      for (let index = 0; index < size; index++) this.#request(this.#address(), this.#caller());
    }
    if (random.chance(weather.creditChange)) for (const group of library.groups()) group.changeCredit(0);
    if (random.chance(weather.modelChange)) this.#changeModels();
    if (random.chance(weather.trafficChange)) this.#parts.operator.change(random.pick(this.#names));
    if (random.chance(weather.workerUnserves)) library.takeGroup()?.shuffle();
    if (random.chance(weather.resized)) library.takeGroup()?.resize();
    if (random.chance(weather.pinned)) library.pin(random.pick(this.#contexts), random.chance(0.4));
    if (random.chance(0.1)) library.measure();
    if (random.chance(weather.breakerClosed)) router.tell({ kind: 'breaker-closed', worker: random.integer(1, 5) });
    if (random.chance(weather.strayMessage)) this.#stray();
  }

  /** The weather ends: workers take work again, no new requests are let in, and what is there must come to an end. */
  #calm(): void {
    for (const group of this.#parts.library.groups()) group.changeCredit(1);
    this.#parts.router.tell({ kind: 'drain-started' });
    const last = () => this.#request(this.#address(), this.#caller());
    last();
    this.#world.timeline.after(3, last);
  }

  #caller(): string {
    return `caller-${this.#world.random.integer(1, this.#world.weather.callerCount)}`;
  }

  /** By its name alone, with a version, or with a label. */
  #address(): string {
    const { random, weather } = this.#world;
    const { members } = random.pick(this.#contexts);
    const { name, version } = random.pick(members);
    if (!random.chance(weather.exactAddress)) return name;
    return random.chance(0.5) ? `${name}:${version}` : `${name}@${random.pick(labels)}`;
  }

  #request(address: string, caller: string): void {
    const { truth, random, timeline, weather } = this.#world;
    const { nowMs } = timeline;
    this.#requestCount += 1;
    const request = this.#requestCount;
    const isOdd = random.chance(weather.oddRequest);
    const timeoutMs = random.chance(weather.deadlineRequest) ? random.integer(isOdd ? -5 : 1, 200) : Infinity;
    const call = {
      request,
      address,
      rows: random.chance(0.7) ? 1 : random.integer(1, isOdd ? 9 : 3),
      bytes: random.integer(0, isOdd ? 300 : 60),
      group: weather.hasGroups ? random.pick(['short', 'short', 'long']) : 'short',
      deadlineAt: nowMs + timeoutMs,
      caller,
      priority: random.integer(0, isOdd ? 9 : 3),
      queueTimeoutMs: random.chance(weather.queueTimeoutRequest) ? random.integer(1, 100) : Infinity,
      isAlone: weather.aloneEvery > 0 && request % weather.aloneEvery === 0,
    };
    truth.decide(request, random, weather);
    if (isOdd && random.chance(0.3)) this.#belated(call);
    else this.#parts.front.ask(call);
    if (random.chance(weather.cancelledRequest)) {
      const reason = random.chance(0.8) ? 'cancelled' : 'deadline-exceeded';
      timeline.after(random.integer(0, 100), () => this.#parts.front.cancel(request, reason));
    }
  }

  /** Sent directly to the scheduler, for a model that was removed or never existed. */
  #belated({ address: _, ...arrived }: Parameters<Front['ask']>[0]): void {
    const { random } = this.#world;
    const model = this.#pastKeys.length > 0 && random.chance(0.7) ? random.pick(this.#pastKeys) : strangeModel;
    this.#parts.router.tell({ kind: 'request-arrived', request: { ...arrived, model } });
  }

  #changeModels(): void {
    const { random } = this.#world;
    const { library, router } = this.#parts;
    const context = random.pick(this.#contexts);
    const serving = random.chance(0.3) ? library.takeServing() : undefined;
    if (serving !== undefined) {
      const { key } = serving.model;
      // Those of first revisions are used again.
      if (key.includes('#')) this.#pastKeys.push(key);
      router.tell({ kind: 'model-added', model: key, policy: policyFor(serving.context, this.#world) });
    } else if (!library.isWanted(context)) {
      if (!random.chance(0.5) || !library.keep(context)) library.want(context);
    } else if (random.chance(0.6)) library.want(context);
    else library.unwant(context);
  }

  /** An event for a batch that has ended or never existed. */
  #stray(): void {
    const { random } = this.#world;
    const { router } = this.#parts;
    const batch = random.chance(0.5) ? router.lastEndedBatch : router.lastBatch + random.integer(1, 5);
    const stray: SchedulerEvent[] = [
      { kind: 'batch-answered', batch },
      { kind: 'batch-failed', batch, code: 'inference-failed', message: 'stray' },
      { kind: 'request-cancelled', request: this.#requestCount + 1000, reason: 'cancelled' },
      { kind: 'worker-gone', worker: 1_000_000 },
      { kind: 'model-removed', model: strangeModel },
      { kind: 'model-retired', model: strangeModel },
      { kind: 'tick' },
    ];
    router.tell(random.pick(stray));
  }
}
