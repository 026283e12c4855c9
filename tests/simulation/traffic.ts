/** Everything that comes from outside: requests in bursts and floods, cancels, models that come and go. */
import { type ModelPolicy, type QueuePolicy, resolveModelPolicy, type SchedulerEvent } from '@millrace/core';
import type { Router } from './router.ts';
import type { SimulatedWorld } from './simulated-worker.ts';
import type { Supervisor } from './supervisor.ts';

const strangeModel = 'nobody:1';

export class Traffic {
  readonly #world: SimulatedWorld;
  readonly #router: Router;
  readonly #supervisor: Supervisor;
  readonly #models: string[] = [];
  #requestCount = 0;

  constructor(world: SimulatedWorld, router: Router, supervisor: Supervisor) {
    this.#world = world;
    this.#router = router;
    this.#supervisor = supervisor;
    for (let index = 1; index <= world.weather.modelCount; index++) this.#addModel(`model-${index}:1`);
    if (world.random.chance(world.weather.earlyDrain)) {
      world.timeline.at(world.random.integer(0, 500), () => router.tell({ kind: 'drain-started' }));
    }
    this.#scheduleBurst();
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
    if (random.chance(weather.flood)) {
      const [model, caller] = [random.pick(this.#models), this.#caller()];
      for (let index = 0; index < 40; index++) this.#request(model, caller);
    } else {
      const size = random.integer(1, weather.burstMax);
      for (let index = 0; index < size; index++) this.#request(random.pick(this.#models), this.#caller());
    }
    if (random.chance(weather.creditChange)) this.#supervisor.changeCredit(0);
    if (random.chance(weather.modelChange)) this.#changeModels();
    if (random.chance(weather.workerUnserves)) this.#supervisor.shuffle(random.pick(this.#models));
    if (weather.breakerClosed > 0 && random.chance(weather.breakerClosed)) {
      this.#router.tell({ kind: 'breaker-closed', worker: random.integer(1, weather.workerCount) });
    }
    if (random.chance(weather.strayMessage)) this.#stray();
  }

  /** The weather ends: workers take work again, no new requests are let in, and what is there must come to an end. */
  #calm(): void {
    this.#supervisor.changeCredit(1);
    this.#router.tell({ kind: 'drain-started' });
    const last = () => this.#request(this.#world.random.pick(this.#models), this.#caller());
    last();
    this.#world.timeline.after(3, last);
  }

  #caller(): string {
    return `caller-${this.#world.random.integer(1, this.#world.weather.callerCount)}`;
  }

  #request(model: string, caller: string): void {
    const { truth, random, timeline, weather } = this.#world;
    const { nowMs } = timeline;
    this.#requestCount += 1;
    const request = this.#requestCount;
    const isOdd = random.chance(weather.oddRequest);
    const timeoutMs = random.chance(weather.deadlineRequest) ? random.integer(isOdd ? -5 : 1, 200) : Infinity;
    const arrived = {
      request,
      model: isOdd && random.chance(0.3) ? strangeModel : model,
      rows: random.chance(0.7) ? 1 : random.integer(1, isOdd ? 9 : 3),
      bytes: random.integer(0, isOdd ? 300 : 60),
      group: weather.hasGroups ? random.pick(['short', 'short', 'long']) : 'short',
      deadlineAt: nowMs + timeoutMs,
      caller,
      priority: random.integer(0, isOdd ? 9 : 3),
      queueTimeoutMs: random.chance(weather.queueTimeoutRequest) ? random.integer(1, 100) : Infinity,
    };
    truth.decide(request, random, weather);
    this.#router.tell({ kind: 'request-arrived', request: arrived });
    if (random.chance(weather.cancelledRequest)) {
      const reason = random.chance(0.8) ? 'cancelled' : 'deadline-exceeded';
      timeline.after(random.integer(0, 100), () => this.#router.tell({ kind: 'request-cancelled', request, reason }));
    }
  }

  #changeModels(): void {
    const { random, weather } = this.#world;
    const model = random.pick(this.#models);
    if (random.chance(0.3)) this.#router.tell({ kind: 'model-added', model, policy: this.#policy() });
    else if (random.chance(weather.retiredModel)) this.#retire(model);
    else this.#remove(model);
  }

  /** Removed once it is idle, as a router does, unless it is wanted back before. */
  #retire(model: string): void {
    this.#router.onIdle.set(model, () => this.#remove(model));
    this.#router.tell({ kind: 'model-retired', model });
  }

  #remove(model: string): void {
    const { random, timeline } = this.#world;
    this.#router.onIdle.delete(model);
    this.#router.tell({ kind: 'model-removed', model });
    this.#supervisor.displace(model);
    timeline.after(random.integer(0, 50), () => this.#addModel(model));
  }

  #addModel(model: string): void {
    if (!this.#models.includes(model)) this.#models.push(model);
    this.#router.tell({ kind: 'model-added', model, policy: this.#policy() });
    this.#supervisor.place(model);
  }

  /** Something said of a batch that is long over, or was never there. */
  #stray(): void {
    const { random } = this.#world;
    const batch = random.chance(0.5) ? this.#router.lastEndedBatch : this.#router.lastBatch + random.integer(1, 5);
    const stray: SchedulerEvent[] = [
      { kind: 'batch-answered', batch },
      { kind: 'batch-failed', batch, code: 'inference-failed', message: 'stray' },
      { kind: 'request-cancelled', request: this.#requestCount + 1000, reason: 'cancelled' },
      { kind: 'worker-gone', worker: 1_000_000 },
      { kind: 'model-removed', model: strangeModel },
      { kind: 'model-retired', model: strangeModel },
      { kind: 'tick' },
    ];
    this.#router.tell(random.pick(stray));
  }

  #policy(): ModelPolicy {
    const { random, weather } = this.#world;
    const isOrdered = random.chance(weather.orderedModel);
    const levels = !isOrdered && random.chance(weather.levelledModel) ? random.integer(2, 3) : 1;
    const rowsMax = random.pick([3, 4, 8]);
    return resolveModelPolicy({
      rowsMax,
      queueRequestsMax: random.chance(0.2) ? random.integer(1, 10) : 1000,
      queueBytesMax: random.chance(0.2) ? random.integer(100, 500) : 100_000,
      runMsMax: random.integer(50, 150),
      waitMsMax: weather.limitedWait > 0 && random.chance(weather.limitedWait) ? random.integer(1, 100) : Infinity,
      delayMs: random.chance(weather.delayingModel) ? random.integer(1, 40) : 0,
      preferredRows: random.pick([[], [], [2], [rowsMax], [2, 3]]),
      isOrdered,
      queues: Array.from({ length: levels }, () => this.#queuePolicy(isOrdered)),
      priorityDefault: random.integer(1, levels),
      weight: random.pick([1, 1, 2, 4]),
    });
  }

  #queuePolicy(isOrdered: boolean): QueuePolicy {
    const { random, weather } = this.#world;
    return {
      requestsMax: random.chance(weather.boundedLevel) ? random.integer(1, 10) : Infinity,
      timeoutMs: random.chance(weather.timedQueue) ? random.integer(1, 100) : Infinity,
      timeoutAction: !isOrdered && random.chance(0.5) ? 'delay' : 'refuse',
      allowsTimeoutOverride: random.chance(0.5),
    };
  }
}
