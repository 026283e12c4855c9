/**
 * A worker process and the link to it. It holds what it is sent in a queue and does one thing at a time, in order.
 * Messages take time, keep their order, and are lost only when the worker dies; `gone` is the last one.
 */
import type { BatchId, ModelKey, RequestId } from '@millrace/core';
import type { Random } from './random.ts';
import type { Timeline } from './timeline.ts';
import type { Truth } from './truth.ts';
import type { Weather } from './weather.ts';

export type ToSimulatedWorker =
  | { readonly kind: 'load'; readonly model: ModelKey; readonly load: number }
  | { readonly kind: 'unload'; readonly model: ModelKey }
  | {
      readonly kind: 'dispatch';
      readonly batch: BatchId;
      readonly model: ModelKey;
      readonly requests: readonly RequestId[];
    }
  | { readonly kind: 'cancel'; readonly batch: BatchId };

export type FromSimulatedWorker =
  | { readonly kind: 'credit'; readonly batchesMax: number }
  | { readonly kind: 'ready'; readonly model: ModelKey; readonly load: number }
  | { readonly kind: 'answered'; readonly batch: BatchId }
  | {
      readonly kind: 'failed';
      readonly batch: BatchId;
      readonly code: 'inference-failed' | 'cancelled' | 'unknown-model';
      readonly message: string;
    }
  | { readonly kind: 'gone' };

export interface SimulatedWorld {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly weather: Weather;
  readonly truth: Truth;
  /** After this moment nothing breaks any more that a request does not break, so that everything can come to rest. */
  readonly calmAt: number;
}

type Task = Exclude<ToSimulatedWorker, { kind: 'cancel' }>;

export class SimulatedWorker {
  readonly startedAt: number;
  readonly #world: SimulatedWorld;
  readonly #receive: (message: FromSimulatedWorker) => void;
  readonly #tasks: Task[] = [];
  readonly #cancelled = new Set<BatchId>();
  readonly #models = new Set<ModelKey>();
  /** Sent by the worker and not yet arrived; a death takes some of them along. */
  readonly #inFlight: { isLost: boolean }[] = [];
  #isAlive: boolean = true;
  readonly #isSick: boolean;
  #isBusy: boolean = false;
  #arrivesAtWorker = 0;
  #arrivesAtRouter = 0;

  constructor(world: SimulatedWorld, receive: (message: FromSimulatedWorker) => void) {
    this.#world = world;
    this.#receive = receive;
    this.startedAt = world.timeline.nowMs;
    this.#isSick = world.random.chance(world.weather.sickWorker);
    this.setCredit(world.random.integer(1, 3));
    const { random, timeline, weather } = world;
    if (random.chance(weather.crashWhileIdle)) timeline.after(random.integer(0, 1000), () => this.#trouble());
  }

  send(message: ToSimulatedWorker): void {
    const { timeline } = this.#world;
    this.#arrivesAtWorker = Math.max(this.#arrivesAtWorker, timeline.nowMs + this.#latencyMs());
    timeline.at(this.#arrivesAtWorker, () => this.#take(message));
  }

  setCredit(batchesMax: number): void {
    if (this.#isAlive) this.#say({ kind: 'credit', batchesMax });
  }

  kill(): void {
    this.#world.timeline.after(this.#latencyMs(), () => this.#die());
  }

  #take(message: ToSimulatedWorker): void {
    if (!this.#isAlive) return;
    if (message.kind === 'cancel') {
      this.#cancelled.add(message.batch);
    } else {
      this.#tasks.push(message);
      this.#next();
    }
  }

  #next(): void {
    if (!this.#isAlive || this.#isBusy) return;
    const task = this.#tasks.shift();
    if (task === undefined) return;
    this.#isBusy = true;
    if (task.kind === 'dispatch') this.#run(task);
    else this.#loadOrUnload(task);
  }

  #done(): void {
    this.#isBusy = false;
    this.#next();
  }

  #loadOrUnload(task: Exclude<Task, { kind: 'dispatch' }>): void {
    const { random, timeline, weather } = this.#world;
    if (task.kind === 'unload') {
      this.#models.delete(task.model);
      this.#done();
      return;
    }
    const isFatal = random.chance(weather.crashInLoad);
    // Slow loads are for workers that serve nothing yet; a serving one is given only what is quick to load.
    const loadMsMax = this.#models.size === 0 ? weather.loadMsMax : Math.min(weather.loadMsMax, 20);
    timeline.after(random.integer(1, loadMsMax), () => {
      if (isFatal) this.#trouble();
      if (!this.#isAlive) return;
      this.#models.add(task.model);
      this.#say({ kind: 'ready', model: task.model, load: task.load });
      this.#done();
    });
  }

  #run(task: Extract<Task, { kind: 'dispatch' }>): void {
    const { batch, model, requests } = task;
    const { truth, random, timeline, weather } = this.#world;
    if (this.#cancelled.has(batch)) {
      this.#end({ kind: 'failed', batch, code: 'cancelled', message: 'skipped' });
      return;
    }
    if (!this.#models.has(model)) {
      this.#end({ kind: 'failed', batch, code: 'unknown-model', message: `${model} is not loaded` });
      return;
    }
    const isFatal = random.chance(weather.crashInRun);
    const isFatalAfterwards = random.chance(weather.crashAfterAnswer);
    if (truth.has(requests, 'hanging')) return;
    timeline.after(random.integer(1, weather.runMsMax), () => {
      if (truth.has(requests, 'poison')) this.#die();
      else if (isFatal) this.#trouble();
      if (!this.#isAlive) return;
      const isFailing = this.#isSick && timeline.nowMs < this.#world.calmAt && random.chance(0.8);
      if (isFailing || truth.has(requests, 'failing')) {
        this.#end({ kind: 'failed', batch, code: 'inference-failed', message: `no answer for ${requests.join(' ')}` });
      } else {
        truth.complete(batch, requests);
        this.#end({ kind: 'answered', batch });
      }
      if (isFatalAfterwards) this.#trouble();
    });
  }

  #end(message: FromSimulatedWorker): void {
    this.#say(message);
    this.#done();
  }

  #say(message: FromSimulatedWorker): void {
    const { timeline } = this.#world;
    const letter: { isLost: boolean } = { isLost: false };
    this.#inFlight.push(letter);
    this.#arrivesAtRouter = Math.max(this.#arrivesAtRouter, timeline.nowMs + this.#latencyMs());
    timeline.at(this.#arrivesAtRouter, () => {
      if (letter.isLost) return;
      this.#inFlight.shift();
      this.#receive(message);
    });
  }

  /** A crash that is the weather's doing. */
  #trouble(): void {
    if (this.#world.timeline.nowMs < this.#world.calmAt) this.#die();
  }

  /** What was on its way arrives up to some point, and nothing behind it; then the link says that it is gone. */
  #die(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    const survivors = this.#world.random.integer(0, this.#inFlight.length);
    for (const letter of this.#inFlight.splice(survivors)) letter.isLost = true;
    this.#say({ kind: 'gone' });
  }

  #latencyMs(): number {
    return this.#world.random.integer(0, this.#world.weather.latencyMsMax);
  }
}
