/** Everything that comes from outside: requests in bursts and floods, cancels, files and traffic that change. */
import type { SimulatedLane } from '../lane/simulated-lane.ts';
import type { WorldModel } from '../repository/layout.ts';
import type { SimulatedRepository } from '../repository/simulated-repository.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { Callers, SentCall } from './callers.ts';
import { labels, type Operator } from './operator.ts';
import { Sequences } from './sequences.ts';

export interface TrafficParts {
  readonly world: SimulatedWorld;
  readonly models: readonly WorldModel[];
  readonly repository: SimulatedRepository;
  readonly lane: SimulatedLane;
  readonly callers: Callers;
  readonly operator: Operator;
  /** Called when all requests were sent. */
  readonly onDone: () => void;
}

interface Target {
  readonly model: WorldModel;
  readonly address: string;
}

/** Two models that load quickly are served by then. */
const allLoadedMs = 100;

export class Traffic {
  readonly #parts: TrafficParts;
  readonly #world: SimulatedWorld;
  readonly #sequences: Sequences;
  readonly #callable: readonly WorldModel[];
  #callCount = 0;

  constructor(parts: TrafficParts) {
    this.#parts = parts;
    this.#world = parts.world;
    // Only streams know what state to send.
    this.#callable = parts.models.filter(({ kind }) => kind !== 'stateful');
    this.#sequences = new Sequences(parts.world.random);
    // Requests that come before anything is loaded show little.
    const { timeline, random, weather } = this.#world;
    const startMs = weather.stampede > 0 ? allLoadedMs : random.integer(0, weather.loadMsMax);
    timeline.after(startMs, () => this.#scheduleBurst());
  }

  /** One more request, as any other. */
  last(): void {
    this.#ask(this.#pick(), this.#caller());
  }

  #scheduleBurst(): void {
    const { random, timeline, weather } = this.#world;
    const isLong = random.chance(weather.longPause);
    timeline.after(random.integer(0, isLong ? 8000 : weather.gapMsMax), () => {
      this.#burst();
      if (this.#callCount < weather.requestCount) this.#scheduleBurst();
      else this.#parts.onDone();
    });
  }

  #burst(): void {
    const { random, weather } = this.#world;
    const { lane, models, operator, repository } = this.#parts;
    if (random.chance(weather.flood)) {
      const [target, caller] = [this.#pick(), this.#caller()];
      for (let index = 0; index < 40; index++) this.#ask(target, caller);
    } else {
      const size = random.chance(weather.stampede) ? 500 : random.integer(1, weather.burstMax);
      for (let index = 0; index < size; index++) this.#ask(this.#pick(), this.#caller());
    }
    const { name } = random.pick(models);
    if (random.chance(weather.creditChange)) lane.changeCredit(0);
    if (random.chance(weather.modelChange)) this.#changeModel(random.pick(models));
    if (random.chance(weather.resized)) repository.resize(name);
    if (random.chance(weather.unreadable)) repository.setUnreadable(name, random.chance(0.5));
    // A router that ends takes no orders any more.
    if (this.#world.isEnding) return;
    if (random.chance(weather.trafficChange)) void operator.changeTraffic(random.pick(models));
    if (random.chance(weather.pinned)) void operator.pin(name);
    if (random.chance(weather.breakerClosed)) operator.closeBreaker();
  }

  #changeModel(model: WorldModel): void {
    const { repository } = this.#parts;
    const { random } = this.#world;
    if (!repository.has(model.name)) repository.add(model);
    else if (random.chance(0.7)) repository.change(model.name);
    else repository.remove(model.name);
  }

  #caller(): string {
    return `caller-${this.#world.random.integer(1, this.#world.weather.callerCount)}`;
  }

  /** A model by its name alone, with a version, or with a label. */
  #pick(): Target {
    const { random, weather } = this.#world;
    const model = random.pick(this.#callable);
    const { name, versionsMax } = model;
    if (!random.chance(weather.exactAddress)) return { model, address: name };
    const isVersion = random.chance(0.5);
    return {
      model,
      address: isVersion ? `${name}:${random.integer(1, versionsMax)}` : `${name}@${random.pick(labels)}`,
    };
  }

  #ask({ model, address }: Target, caller: string): void {
    const { truth, random, timeline, weather } = this.#world;
    this.#callCount += 1;
    const id = this.#callCount;
    const isOdd = random.chance(weather.oddRequest);
    const timeoutMs = random.chance(weather.deadlineRequest) ? random.integer(isOdd ? -5 : 1, 200) : Infinity;
    // Callers of a cached model ask the same questions again.
    const question = model.cache === 'none' ? id : cachedQuestionMin + random.integer(0, 15);
    if (model.cache === 'none') truth.decide(question, random, weather);
    const isPlain = model.kind === 'plain';
    const rowsMax = !isPlain ? (model.kind === 'ensemble' ? 3 : 1) : isOdd || model.isSplit ? 12 : 3;
    const form = model.cache === 'none' ? this.#form(rowsMax, isOdd) : cachedForm(question, weather.hasGroups);
    const sequence = model.kind === 'sequence' ? this.#sequences.next(caller, question) : undefined;
    this.#parts.callers.ask({
      ...form,
      id,
      model,
      address,
      question,
      width: model.kind === 'decoupled' ? 1 : form.width,
      deadlineAt: timeline.nowMs + timeoutMs,
      caller,
      priority: random.integer(0, isOdd ? 9 : 3),
      queueTimeoutMs: random.chance(weather.queueTimeoutRequest) ? random.integer(1, 100) : Infinity,
      isAlone: isPlain && model.cache === 'none' && weather.aloneEvery > 0 && id % weather.aloneEvery === 0,
      step: sequence?.step,
      sequenceStep: sequence?.sent,
    });
    if (!random.chance(weather.cancelledRequest)) return;
    const reason = random.chance(0.8) ? 'cancelled' : 'deadline-exceeded';
    timeline.after(random.integer(0, 100), () => this.#parts.callers.cancel(id, reason));
  }

  #form(rowsMax: number, isOdd: boolean): Form {
    const { random, weather } = this.#world;
    const rows = random.chance(0.7) ? 1 : random.integer(1, rowsMax);
    return {
      rows,
      width: weather.hasGroups ? random.pick([1, 1, 2]) : 1,
      textLengths: Array.from({ length: rows }, () => random.integer(0, isOdd ? 200 : 20)),
    };
  }
}

/** The size of a request. */
type Form = Pick<SentCall, 'rows' | 'width' | 'textLengths'>;

/** Far from the questions that are asked once. */
const cachedQuestionMin = 900_000;

/** The same for everybody who asks the question. */
function cachedForm(question: number, hasGroups: boolean): Form {
  const rows = 1 + (question % 3);
  return {
    rows,
    width: hasGroups ? 1 + (question % 2) : 1,
    textLengths: Array.from({ length: rows }, (_, row) => (question + row) % 20),
  };
}
