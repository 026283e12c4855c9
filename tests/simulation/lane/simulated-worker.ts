/**
 * A worker process. It holds what it is sent in a queue and does one thing at a time, in order; a concurrent one begins
 * every batch at once.
 */
import type {
  DispatchMessage,
  FromWorker,
  LoadMessage,
  LoadSpec,
  ToWorker,
  UnloadMessage,
  WorkerEnd,
} from '@millrace/protocol';
import type { VersionFile } from '../repository/definitions.ts';
import { claim } from '../world/truth.ts';
import { mebibyte } from '../world/weather.ts';
import { batchInput, outputsOf, questionsIn, rowValues, writeOutputs } from './model-run.ts';
import { questionOf, takeTextQuestions } from './rows.ts';
import { SimulatedCalls } from './simulated-calls.ts';
import type { SimulatedLaneParts, SimulatedLink } from './simulated-lane.ts';
import { SimulatedRegion } from './simulated-region.ts';

/** A process without a model. */
const processBytes: number = 48 * mebibyte;

interface Batch {
  readonly message: DispatchMessage;
  readonly questions: readonly number[];
  /** Of a decoupled model: how many answers it may give, and has given. */
  credit: number;
  given: number;
}

/** A model in memory, with the file that it was read from. */
interface LoadedModel {
  readonly spec: LoadSpec;
  readonly file: VersionFile;
}

export class SimulatedWorker {
  readonly #parts: SimulatedLaneParts;
  readonly #link: SimulatedLink;
  readonly #tasks: (LoadMessage | UnloadMessage | Batch)[] = [];
  readonly #running = new Map<number, Batch>();
  /** By batch, of all that the router waits for. */
  readonly #questions = new Map<number, readonly number[]>();
  readonly #cancelled = new Set<number>();
  readonly #models = new Map<number, LoadedModel>();
  readonly #calls: SimulatedCalls;
  /** What it is to load, by handle. */
  readonly #specs = new Map<number, LoadSpec>();
  #isAlive: boolean = true;
  readonly #isSick: boolean;
  readonly #isDeaf: boolean;
  #isConcurrent: boolean = false;
  #isLoading: boolean = false;
  /** What it runs never gives the process back: nothing else on it gets any further. */
  #isStuck: boolean = false;
  #isStopping: boolean = false;

  constructor(parts: SimulatedLaneParts, link: SimulatedLink) {
    this.#parts = parts;
    this.#link = link;
    const { random, weather, timeline } = parts.world;
    this.#calls = new SimulatedCalls(parts.world, (message) => this.#isAlive && this.#say(message));
    this.#isSick = random.chance(weather.sickWorker);
    this.#isDeaf = random.chance(weather.deafWorker);
    this.setCredit(random.integer(1, 4));
    if (random.chance(weather.crashWhileIdle)) timeline.after(random.integer(0, 1000), () => this.#trouble());
  }

  /** Undefined when it has ended. */
  get residentBytes(): number | undefined {
    if (!this.#isAlive) return undefined;
    let bytes = processBytes;
    for (const { file } of this.#models.values()) bytes += file.bytes;
    return bytes;
  }

  setCredit(batchesMax: number): void {
    if (this.#isAlive) this.#say({ kind: 'credit', batchesMax });
  }

  /** The router has sent it, and will wait for its end. */
  noteDispatch(message: DispatchMessage): void {
    const { world } = this.#parts;
    const spec = this.#specs.get(message.model);
    const questions = spec === undefined ? [] : questionsIn(message, spec);
    this.#questions.set(message.batch, questions);
    world.truth.noteBatch(questions);
    // The router does not know yet that it sends to a dead one.
    if (!this.#isAlive) world.truth.noteMisfortune(questions);
  }

  /** Sent after it has ended: the router takes it for lost with the worker. */
  noteLate(message: DispatchMessage): void {
    this.noteDispatch(message);
    this.#parts.world.truth.noteLost(this.#questions.get(message.batch) ?? []);
  }

  take(message: ToWorker): void {
    if (!this.#isAlive) return;
    switch (message.kind) {
      case 'load':
        this.#specs.set(message.spec.model, message.spec);
        this.#isConcurrent ||= message.spec.concurrency !== undefined;
        this.#tasks.push(message);
        break;
      case 'dispatch':
        this.#tasks.push({ message, questions: this.#checked(message), credit: 0, given: 0 });
        break;
      case 'cancel':
        this.#cancel(message.batch);
        break;
      case 'unload':
        this.#tasks.push(message);
        break;
      case 'grant':
        this.#grant(message.batch, message.answers);
        break;
      case 'call-answered':
      case 'call-failed':
        if (!this.#isStuck) this.#calls.take(message);
        break;
    }
    this.#next();
  }

  /** It ends when everything that it was sent is done. */
  stop(): void {
    if (this.#isDeaf) return;
    this.#isStopping = true;
    this.#next();
  }

  die(end: WorkerEnd): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#link.end(false, 'it died', end);
  }

  /** The router hears that it has ended. */
  noteGone(): void {
    this.#parts.world.truth.noteLost(this.#held());
  }

  #cancel(batch: number): void {
    this.#cancelled.add(batch);
    const running = this.#running.get(batch);
    // Code that waits for ever may listen; code that never gives the process back cannot.
    const isHeard = this.#isConcurrent && !this.#isStuck && this.#parts.world.random.chance(0.5);
    if (running !== undefined && isHeard) this.#end(running, skipped(batch));
  }

  #next(): void {
    while (this.#isAlive && !this.#isLoading && !this.#isStuck && (this.#isConcurrent || this.#running.size === 0)) {
      const task = this.#tasks.shift();
      if (task === undefined) {
        if (this.#isStopping && this.#running.size === 0) this.#leave();
        return;
      }
      if ('questions' in task) this.#run(task);
      else if (task.kind === 'unload') this.#unload(task.model);
      else this.#load(task.spec);
    }
  }

  /** What it has not run by now would be refused. */
  #unload(model: number): void {
    const isAwaited = this.#tasks.some((task) => 'questions' in task && task.message.model === model);
    claim(!isAwaited, `a worker is to unload ${this.#specs.get(model)?.name}, of which batches wait`);
    this.#models.delete(model);
  }

  #load(spec: LoadSpec): void {
    const { world } = this.#parts;
    const { random, timeline, weather } = world;
    const isFatal = random.chance(weather.crashInLoad);
    const isFailing = random.chance(weather.failedLoad);
    this.#isLoading = true;
    if (!world.isCalm && random.chance(weather.hangingLoad)) return;
    // Slow loads are for workers that serve nothing yet.
    const loadMsMax = this.#models.size === 0 ? weather.loadMsMax : Math.min(weather.loadMsMax, 20);
    const loadMs = random.integer(1, loadMsMax);
    const { repository } = this.#parts;
    // One process reads the file first, the other last. Not drawn, so that the seeds that are known to find something stay as they were.
    const readFirst = this.#link.pid % 2 === 0 ? repository.takeFileAt(spec.path) : undefined;
    timeline.after(loadMs, () => {
      if (isFatal) this.#trouble();
      if (!this.#isAlive) return;
      this.#isLoading = false;
      const { model } = spec;
      const file = readFirst ?? repository.takeFileAt(spec.path);
      if (file === undefined || (isFailing && !world.isCalm))
        this.#say({ kind: 'load-failed', model, message: `no load of ${spec.path}` });
      else {
        this.#models.set(model, { spec, file });
        const addedBytes = file.bytes;
        // A tenth is too slow to be loaded beside others.
        const processorMs = random.integer(1, 110);
        const residentBytes = this.residentBytes ?? 0;
        this.#say({ kind: 'ready', model, loadMs, residentBytes, cost: { addedBytes, processorMs } });
      }
      this.#next();
    });
  }

  #run(batch: Batch): void {
    const { message, questions } = batch;
    const { world } = this.#parts;
    const { truth, random, timeline, weather } = world;
    if (this.#cancelled.has(message.batch)) {
      this.#say(skipped(message.batch));
      return;
    }
    const loaded = this.#models.get(message.model);
    if (loaded === undefined || (!world.isCalm && random.chance(weather.forgottenModel))) {
      this.#forget(message);
      return;
    }
    this.#running.set(message.batch, batch);
    const isFatal = random.chance(weather.crashInRun);
    const isFatalAfterwards = random.chance(weather.crashAfterAnswer);
    if (truth.has(questions, 'blocking')) this.#isStuck = true;
    if (this.#isStuck || truth.has(questions, 'hanging')) return;
    const runMs = random.integer(1, weather.runMsMax);
    timeline.after(runMs, () => {
      if (this.#isStuck || !this.#running.has(message.batch)) return;
      if (truth.has(questions, 'poison')) this.die('crashed');
      else if (isFatal) this.#trouble();
      if (!this.#isAlive) return;
      this.#proceed(batch, loaded, runMs, isFatalAfterwards);
    });
  }

  /** The run has done its own work; it may have to ask another model. */
  #proceed(batch: Batch, loaded: LoadedModel, runMs: number, isFatalAfterwards: boolean): void {
    const { message, questions } = batch;
    const { callee } = loaded.file.model;
    if (callee === undefined) {
      this.#conclude(batch, loaded, runMs, isFatalAfterwards);
      return;
    }
    this.#calls.begin(message.batch, callee, questions[0] as number, (isAnswered) => {
      if (isAnswered) this.#conclude(batch, loaded, runMs, isFatalAfterwards);
      else this.#fail(batch);
    });
  }

  #conclude(batch: Batch, loaded: LoadedModel, runMs: number, isFatalAfterwards: boolean): void {
    const { world } = this.#parts;
    const isFailing = this.#isSick && !world.isCalm && world.random.chance(0.8);
    if (isFailing || world.truth.has(batch.questions, 'failing')) this.#fail(batch);
    else if (loaded.spec.isDecoupled === true) this.#giveNext(batch, loaded);
    else this.#end(batch, this.#answer(batch.message, loaded, runMs));
    if (isFatalAfterwards) this.#trouble();
  }

  #grant(batch: number, answers: number): void {
    const task = this.#tasks.find((one) => 'questions' in one && one.message.batch === batch) as Batch | undefined;
    const held = this.#running.get(batch) ?? task;
    if (held !== undefined) held.credit += answers;
  }

  /** Gives the answers of a decoupled model one after the other, as far as it has credit; then its end. */
  #giveNext(batch: Batch, loaded: LoadedModel): void {
    const { world } = this.#parts;
    const { message, questions } = batch;
    world.timeline.after(world.random.integer(1, 5), () => {
      if (!this.#isAlive || this.#isStuck || this.#running.get(message.batch) !== batch) return;
      if (batch.given === answerCount(questions[0] as number)) {
        const region = new SimulatedRegion(world, 0, `of the end of batch ${message.batch}`);
        this.#end(batch, { kind: 'answered', batch: message.batch, outputs: [], region, runMicros: 0 });
        return;
      }
      if (batch.credit > 0) {
        batch.credit -= 1;
        batch.given += 1;
        const region = this.#regionFor(message, `of answer ${batch.given} to batch ${message.batch}`);
        const outputs = outputsOf(message.inputs, loaded.spec, loaded.file.stamp, batch.given);
        this.#say({
          kind: 'partial-answer',
          batch: message.batch,
          sequence: batch.given,
          outputs: writeOutputs(outputs, message.outputs, loaded.spec, region),
          region,
        });
      }
      this.#giveNext(batch, loaded);
    });
  }

  #fail(batch: Batch): void {
    const { questions, message } = batch;
    this.#parts.world.truth.noteFailed(questions);
    const text = `no answer for ${questions.join(' ')}`;
    this.#end(batch, { kind: 'failed', batch: message.batch, code: 'inference-failed', message: text });
  }

  /** It says that it does not have the model, and ends soon after. */
  #forget({ batch, model }: DispatchMessage): void {
    const { world } = this.#parts;
    this.#models.delete(model);
    world.truth.noteFailed(this.#questions.get(batch) ?? []);
    this.#say({ kind: 'failed', batch, code: 'unknown-model', message: `${model} is not loaded` });
    world.timeline.after(world.random.integer(1, 200), () => {
      this.#noteMisfortune();
      this.die('crashed');
    });
  }

  #answer(message: DispatchMessage, { spec, file }: LoadedModel, runMs: number): FromWorker {
    const { batch, inputs } = message;
    const region = this.#regionFor(message, `of the answer to batch ${batch}`);
    const values = outputsOf(inputs, spec, file.stamp);
    const outputs = writeOutputs(values, message.outputs, spec, region);
    return { kind: 'answered', batch, outputs, region, runMicros: runMs * 1000 };
  }

  /** Room for four bytes of each wanted output and row; there are no more rows than bytes of `x`. */
  #regionFor({ inputs, outputs }: DispatchMessage, title: string): SimulatedRegion {
    const bytes = inputs.reduce((most, { data }) => Math.max(most, data.length), 0);
    return new SimulatedRegion(this.#parts.world, bytes * outputs.length, title);
  }

  #end({ message: { batch } }: Batch, message: FromWorker): void {
    this.#running.delete(batch);
    this.#calls.batchEnded(batch);
    this.#say(message);
    this.#next();
  }

  #say(message: FromWorker): void {
    this.#link.deliver(message);
  }

  /** A crash that is the weather's doing: nobody on the worker is to blame for it. */
  #trouble(): void {
    if (!this.#isAlive || this.#parts.world.isCalm) return;
    this.#noteMisfortune();
    // Not drawn, so that the seeds that are known to find something stay as they were.
    this.die(this.#link.pid % 2 === 0 ? 'killed' : 'crashed');
  }

  #noteMisfortune(): void {
    this.#parts.world.truth.noteMisfortune(this.#held());
  }

  /** The questions of all batches that the router waits for. */
  #held(): readonly number[] {
    return this.#link.outstanding().flatMap((batch) => this.#questions.get(batch) ?? []);
  }

  /** It ends by itself, with everything said. */
  #leave(): void {
    this.#isAlive = false;
    this.#link.end(true, 'it was asked to', 'crashed');
  }

  /** The questions of a batch whose rows have arrived whole: every input tells the same. */
  #checked(message: DispatchMessage): readonly number[] {
    const { world } = this.#parts;
    const spec = this.#specs.get(message.model);
    if (spec === undefined) return [];
    world.judge(() => {
      const rows = rowValues(message.inputs, spec).map(questionOf);
      const texts = takeTextQuestions(batchInput(message.inputs, spec, 'text').data);
      claim(rows.length > 0, `batch ${message.batch} has no rows`);
      claim(`${texts}` === `${rows}`, `batch ${message.batch} has rows of ${rows}, but texts of ${texts}`);
    });
    return this.#questions.get(message.batch) ?? [];
  }
}

function skipped(batch: number): FromWorker {
  return { kind: 'failed', batch, code: 'cancelled', message: 'skipped' };
}

/** How many answers a decoupled model gives. */
export function answerCount(question: number): number {
  return question % 4;
}
