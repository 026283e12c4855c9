/**
 * A worker process and the link to it. It holds what it is sent in a queue and does one thing at a time, in order; a
 * concurrent one begins every batch at once. Messages take time, keep their order, and are lost only when the worker
 * dies; `gone` is the last one.
 */
import type { BatchId, ModelKey, RequestId } from '@millrace/core';
import type { SimulationRandom } from './random.ts';
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
  | { readonly kind: 'load-failed'; readonly model: ModelKey; readonly load: number }
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
  readonly random: SimulationRandom;
  readonly weather: Weather;
  readonly truth: Truth;
  /** After this moment nothing breaks any more that a request does not break, so that everything can come to rest. */
  readonly calmAt: number;
}

type Task = Exclude<ToSimulatedWorker, { kind: 'cancel' }>;
type Dispatch = Extract<Task, { kind: 'dispatch' }>;

export class SimulatedWorker {
  readonly startedAt: number;
  readonly #world: SimulatedWorld;
  readonly #isConcurrent: boolean;
  readonly #receive: (message: FromSimulatedWorker) => void;
  readonly #tasks: Task[] = [];
  readonly #running = new Map<BatchId, Dispatch>();
  /** As the router sees it: sent there, and nothing heard of it yet. */
  readonly #outstanding = new Map<BatchId, readonly RequestId[]>();
  readonly #cancelled = new Set<BatchId>();
  readonly #models = new Set<ModelKey>();
  /** Sent by the worker and not yet arrived; a death takes some of them along. */
  readonly #inFlight: { isLost: boolean }[] = [];
  #isAlive: boolean = true;
  readonly #isSick: boolean;
  #isLoading: boolean = false;
  /** What it runs never gives the process back: nothing else on it gets any further. */
  #isStuck: boolean = false;
  #isStopping: boolean = false;
  #arrivesAtWorker = 0;
  #arrivesAtRouter = 0;

  constructor(world: SimulatedWorld, isConcurrent: boolean, receive: (message: FromSimulatedWorker) => void) {
    this.#world = world;
    this.#isConcurrent = isConcurrent;
    this.#receive = receive;
    this.startedAt = world.timeline.nowMs;
    this.#isSick = world.random.chance(world.weather.sickWorker);
    this.setCredit(world.random.integer(isConcurrent ? 2 : 1, isConcurrent ? 6 : 3));
    const { random, timeline, weather } = world;
    if (random.chance(weather.crashWhileIdle)) timeline.after(random.integer(0, 1000), () => this.#trouble());
  }

  send(message: ToSimulatedWorker): void {
    const { truth } = this.#world;
    if (message.kind === 'dispatch') {
      this.#outstanding.set(message.batch, message.requests);
      // The router does not know yet that it sends to a dead one.
      if (!this.#isAlive) truth.noteMisfortune(message.requests);
    }
    this.#arrive(() => this.#take(message));
  }

  setCredit(batchesMax: number): void {
    if (this.#isAlive) this.#say({ kind: 'credit', batchesMax });
  }

  kill(): void {
    this.#world.timeline.after(this.#latencyMs(), () => this.#die());
  }

  /** It ends when everything that it was sent is done. */
  stop(): void {
    this.#arrive(() => {
      this.#isStopping = true;
      this.#next();
    });
  }

  /** In the order of sending. */
  #arrive(happen: () => void): void {
    const { timeline } = this.#world;
    this.#arrivesAtWorker = Math.max(this.#arrivesAtWorker, timeline.nowMs + this.#latencyMs());
    timeline.at(this.#arrivesAtWorker, happen);
  }

  #take(message: ToSimulatedWorker): void {
    if (!this.#isAlive) return;
    if (message.kind === 'cancel') {
      this.#cancelled.add(message.batch);
      const running = this.#running.get(message.batch);
      // Code that waits for ever may listen; code that never gives the process back cannot.
      const isHeard = this.#isConcurrent && !this.#isStuck && this.#world.random.chance(0.5);
      if (running !== undefined && isHeard) this.#end(running, skipped(message.batch));
    } else {
      this.#tasks.push(message);
      this.#next();
    }
  }

  #next(): void {
    while (this.#isAlive && !this.#isLoading && !this.#isStuck && (this.#isConcurrent || this.#running.size === 0)) {
      const task = this.#tasks.shift();
      if (task === undefined) {
        if (this.#isStopping && this.#running.size === 0) this.#leave();
        return;
      }
      if (task.kind === 'dispatch') this.#run(task);
      else if (task.kind === 'unload') this.#models.delete(task.model);
      else this.#load(task);
    }
  }

  #load(task: Extract<Task, { kind: 'load' }>): void {
    const { random, timeline, weather, calmAt } = this.#world;
    const isFatal = random.chance(weather.crashInLoad);
    const isFailing = random.chance(weather.failedLoad);
    // Slow loads are for workers that serve nothing yet; a serving one is given only what is quick to load.
    const loadMsMax = this.#models.size === 0 ? weather.loadMsMax : Math.min(weather.loadMsMax, 20);
    this.#isLoading = true;
    timeline.after(random.integer(1, loadMsMax), () => {
      if (isFatal) this.#trouble();
      if (!this.#isAlive) return;
      this.#isLoading = false;
      const { model, load } = task;
      if (isFailing && timeline.nowMs < calmAt) this.#say({ kind: 'load-failed', model, load });
      else {
        this.#models.add(model);
        this.#say({ kind: 'ready', model, load });
      }
      this.#next();
    });
  }

  #run(task: Dispatch): void {
    const { batch, model, requests } = task;
    const { truth, random, timeline, weather } = this.#world;
    if (this.#cancelled.has(batch)) {
      this.#say(skipped(batch));
      return;
    }
    if (!this.#models.has(model)) {
      this.#say({ kind: 'failed', batch, code: 'unknown-model', message: `${model} is not loaded` });
      return;
    }
    this.#running.set(batch, task);
    const isFatal = random.chance(weather.crashInRun);
    const isFatalAfterwards = random.chance(weather.crashAfterAnswer);
    if (truth.has(requests, 'blocking')) this.#isStuck = true;
    if (this.#isStuck || truth.has(requests, 'hanging')) return;
    timeline.after(random.integer(1, weather.runMsMax), () => {
      if (this.#isStuck || !this.#running.has(batch)) return;
      if (truth.has(requests, 'poison')) this.#die();
      else if (isFatal) this.#trouble();
      if (!this.#isAlive) return;
      const isFailing = this.#isSick && timeline.nowMs < this.#world.calmAt && random.chance(0.8);
      if (isFailing || truth.has(requests, 'failing')) {
        const message = `no answer for ${requests.join(' ')}`;
        this.#end(task, { kind: 'failed', batch, code: 'inference-failed', message });
      } else {
        truth.complete(batch, requests);
        this.#end(task, { kind: 'answered', batch });
      }
      if (isFatalAfterwards) this.#trouble();
    });
  }

  #end({ batch }: Dispatch, message: FromSimulatedWorker): void {
    this.#running.delete(batch);
    this.#say(message);
    this.#next();
  }

  #say(message: FromSimulatedWorker): void {
    const { timeline } = this.#world;
    const letter: { isLost: boolean } = { isLost: false };
    this.#inFlight.push(letter);
    this.#arrivesAtRouter = Math.max(this.#arrivesAtRouter, timeline.nowMs + this.#latencyMs());
    timeline.at(this.#arrivesAtRouter, () => {
      if (letter.isLost) return;
      this.#inFlight.shift();
      if (message.kind === 'answered' || message.kind === 'failed') this.#outstanding.delete(message.batch);
      this.#receive(message);
    });
  }

  /** A crash that is the weather's doing: nobody on the worker is to blame for it. */
  #trouble(): void {
    if (!this.#isAlive || this.#world.timeline.nowMs >= this.#world.calmAt) return;
    for (const requests of this.#outstanding.values()) this.#world.truth.noteMisfortune(requests);
    this.#die();
  }

  /** It ends by itself, with everything said. */
  #leave(): void {
    this.#isAlive = false;
    this.#say({ kind: 'gone' });
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

function skipped(batch: BatchId): FromSimulatedWorker {
  return { kind: 'failed', batch, code: 'cancelled', message: 'skipped' };
}
