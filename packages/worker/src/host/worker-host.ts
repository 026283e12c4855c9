import { AssertionError } from 'node:assert';
import type {
  CancelMessage,
  DispatchMessage,
  FailedMessage,
  GenerationLoad,
  GrantMessage,
  LoadMessage,
  LoadSpec,
  Region,
  ToWorker,
  UnloadMessage,
  WorkerMessage,
} from '@millrace/protocol';
import { Cancellation, InferenceError, MalformedFrame } from '@millrace/protocol';
import {
  ProcessSpoiled,
  type RunCalls,
  type RunRequest,
  type RunResult,
  type Session,
  UnloadableModel,
} from '../engine.ts';
import { GuardedOutputMemory } from '../guarded-output-memory.ts';
import { randomBitsFrom } from '../random-bits.ts';
import type { JobTurns } from './job-turns.ts';
import { OpenCalls } from './open-calls.ts';
import type { SessionSource } from './sessions.ts';
import { SteppedRuns } from './stepped-runs.ts';

/** One batch runs while the next one waits, so that a worker is not idle while an answer is transferred. */
export const batchesMaxDefault = 2;

export interface WorkerHostOptions {
  readonly sessions: SessionSource;
  /** How many batches are held at once, including the running one, unless a model needs more. */
  readonly batchesMax: number;
  /** The most that a model can raise it to: the share of this link in what the worker holds; no limit unless given. */
  readonly creditMax?: number;
  /** Where several links share a worker: the turns that they take. */
  readonly turns?: JobTurns;
  /** In milliseconds, for measuring only. */
  readonly now: () => number;
  readonly residentBytes: () => number;
  /** Processor time of the process so far. */
  readonly processorMs: () => number;
  /** The process is not shared, so that a run that spoils it may end it. */
  readonly isOwnProcess?: boolean;
  /** Lends memory for outputs, which the router will read. */
  readonly lend: (bytes: number) => Region;
  /** The same for the outputs of a run; throws where no message can hold them. `lend` unless given. */
  readonly lendOutputs?: (bytes: number) => Region;
  /** The seed of the sentinels of unwritten memory: 32 random bits. */
  readonly sentinelSeed: number;
  /** Called between two jobs, to receive what has arrived meanwhile. */
  readonly listen?: () => void;
  /** Called when nothing is left to do. */
  readonly onIdle?: () => void;
  /** Outputs of a `partial-answer` of up to so many bytes are copied by `send`, before it returns; 0 unless given. */
  readonly copiedBytesMax?: number;
  /** Never called from inside `receive` or `start`. Returns why a `partial-answer` could not be sent; its region is released then. */
  readonly send: (message: WorkerMessage) => InferenceError | undefined;
}

interface Job {
  readonly message: LoadMessage | UnloadMessage | DispatchMessage;
  isCancelled: boolean;
  /** Credit for partial answers that the router granted before the batch began. */
  granted: number;
}

interface Loaded {
  readonly session: Session;
  readonly isConcurrent: boolean;
  /** Begins a run that answers in steps; undefined: its runs have one answer. */
  readonly begin: Session['begin'];
}

/** A batch that runs while others do. */
interface ConcurrentRun {
  readonly model: number;
  readonly cancellation: Cancellation;
  ended: Promise<void>;
}

/**
 * The worker's logic, independent of the transport: handles messages in order and finishes each before the next, so that
 * answers come in dispatch order and a dispatch after a load finds its model. Batches of a concurrent model begin in order
 * and are answered as they end.
 */
export class WorkerHost {
  readonly #options: WorkerHostOptions;
  readonly #sessions = new Map<number, Loaded>();
  readonly #running = new Map<number, ConcurrentRun>();
  readonly #calls: OpenCalls;
  readonly #stepped: SteppedRuns;
  readonly #jobs: Job[] = [];
  readonly #lendOutputs: (bytes: number) => Region;
  readonly #random: () => number;
  #batchesMax: number;
  #batchesHeld = 0;
  #isWorking: boolean = false;
  #isClosed: boolean = false;
  #onFinished: (() => void) | undefined;

  constructor(options: WorkerHostOptions) {
    this.#options = options;
    this.#lendOutputs = options.lendOutputs ?? options.lend;
    this.#random = randomBitsFrom(options.sentinelSeed);
    this.#batchesMax = Math.min(options.batchesMax, options.creditMax ?? Number.POSITIVE_INFINITY);
    this.#stepped = new SteppedRuns({
      makeMemory: () => new GuardedOutputMemory(this.#lendOutputs, this.#random, options.copiedBytesMax),
      send: (message) => {
        if (!this.#isClosed) return this.#options.send(message);
        message.region.release();
        return undefined;
      },
    });
    this.#calls = new OpenCalls({ lend: options.lend, send: (message) => this.#send(message) });
  }

  /** Sends the credit; the router sends no batch before. */
  start(): void {
    queueMicrotask(() => this.#send({ kind: 'credit', batchesMax: this.#batchesMax }));
  }

  /** Whether it has jobs that wait or run. */
  get isWorking(): boolean {
    return this.#isWorking || this.#running.size > 0;
  }

  receive(message: ToWorker): void {
    if (this.#isClosed) return;
    switch (message.kind) {
      case 'cancel':
        this.#cancel(message);
        return;
      case 'grant':
        this.#grant(message);
        return;
      case 'call-answered':
        this.#calls.answered(message);
        return;
      case 'call-failed':
        this.#calls.failed(message);
        return;
    }
    if (message.kind === 'dispatch') {
      this.#batchesHeld++;
      const batchesMax = this.#batchesMax;
      if (this.#batchesHeld > batchesMax) {
        throw new MalformedFrame(`the router sent more than the ${batchesMax} batches it had credit for`);
      }
    }
    this.#jobs.push({ message, isCancelled: false, granted: 0 });
    if (this.#isWorking) return;
    this.#isWorking = true;
    queueMicrotask(() => void this.#work());
  }

  /** Calls back when everything received so far is done, at the earliest in a later microtask. */
  finish(onFinished: () => void): void {
    if (this.isWorking) this.#onFinished = onFinished;
    else queueMicrotask(onFinished);
  }

  /** Sends nothing more, drops waiting jobs and unloads the models once the run in progress has ended. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#jobs.length = 0;
    for (const [batch, run] of this.#running) {
      run.cancellation.cancel('cancelled');
      this.#calls.batchEnded(batch);
    }
    if (!this.#isWorking) void this.#unloadAll();
  }

  /** A waiting batch is skipped; a concurrent run gets the signal, and its calls are cancelled. */
  #cancel({ batch }: CancelMessage): void {
    const job = this.#jobs.find((job) => job.message.kind === 'dispatch' && job.message.batch === batch);
    if (job !== undefined) job.isCancelled = true;
    const run = this.#running.get(batch);
    if (run === undefined) return;
    run.cancellation.cancel('cancelled');
    this.#calls.batchEnded(batch);
  }

  /** For a batch that waits or runs; ignored for one that has ended. */
  #grant(message: GrantMessage): void {
    const waiting = this.#jobs.find(({ message: job }) => job.kind === 'dispatch' && job.batch === message.batch);
    if (waiting === undefined) this.#stepped.grant(message);
    else waiting.granted += message.answers;
  }

  async #work(): Promise<void> {
    if (this.#options.turns === undefined) {
      for (let job = this.#takeJob(); job !== undefined; job = this.#takeJob()) await this.#do(job);
    } else {
      await this.#workInTurns(this.#options.turns);
    }
    this.#isWorking = false;
    if (this.#isClosed) await this.#unloadAll();
    this.#tellIfIdle();
  }

  /** A load or unload passes its turn first: it may have to wait for a load of another link. */
  async #workInTurns(turns: JobTurns): Promise<void> {
    for (;;) {
      await turns.take();
      const job = this.#takeJob();
      const isRun = job?.message.kind === 'dispatch';
      if (!isRun) turns.pass();
      if (job === undefined) return;
      await this.#do(job);
      if (isRun) turns.pass();
    }
  }

  /** Nothing to wait for where a batch runs beside the jobs behind it. */
  #do({ message, isCancelled, granted }: Job): Promise<void> | undefined {
    switch (message.kind) {
      case 'dispatch':
        return this.#begin(message, isCancelled, granted);
      case 'load':
        return this.#load(message);
      case 'unload':
        return this.#unload(message.model);
    }
  }

  #begin(message: DispatchMessage, isCancelled: boolean, granted: number): Promise<void> | undefined {
    const loaded = this.#sessions.get(message.model);
    if (loaded?.isConcurrent === true && !isCancelled) this.#runBeside(message, granted);
    else if (loaded?.session.runNow === undefined || isCancelled || this.#options.isOwnProcess !== true)
      return this.#run(message, isCancelled);
    else this.#runNow(message, loaded.session as Required<Pick<Session, 'runNow'>>);
    return undefined;
  }

  /** A run without a promise: small models are run in less time than it takes to wait for one. */
  #runNow({ batch, inputs, outputs }: DispatchMessage, session: Required<Pick<Session, 'runNow'>>): void {
    const startedAt = this.#options.now();
    const memory = new GuardedOutputMemory(this.#lendOutputs, this.#random);
    let result: RunResult;
    let region: Region;
    try {
      result = session.runNow({ inputs, outputs, memory });
      region = memory.take(result.outputs);
    } catch (error) {
      memory.release();
      this.#failBy(error, batch, false);
      return;
    }
    this.#answer(batch, result, region, startedAt);
  }

  #answer(batch: number, { outputs }: RunResult, region: Region, startedAt: number): void {
    const runMicros = (this.#options.now() - startedAt) * 1000;
    this.#batchesHeld--;
    if (this.#isClosed) region.release();
    else this.#send({ kind: 'answered', batch, outputs, region, runMicros });
  }

  #tellIfIdle(): void {
    if (this.isWorking) return;
    this.#onFinished?.();
    this.#options.onIdle?.();
  }

  /** Begins a batch and continues with the next job. */
  #runBeside(message: DispatchMessage, granted: number): void {
    const { batch, model } = message;
    const cancellation = new Cancellation();
    const calls: RunCalls = {
      signal: cancellation,
      call: (request) => {
        if (this.#running.get(batch) === run && cancellation.reason === undefined) {
          return this.#calls.begin(batch, request);
        }
        return Promise.reject(new InferenceError('cancelled', 'the request that would make this call has ended'));
      },
    };
    const run: ConcurrentRun = { model, cancellation, ended: Promise.resolve() };
    // Before it begins: the first thing it does may be a call.
    this.#running.set(batch, run);
    const onRan = (): void => {
      this.#running.delete(batch);
      this.#calls.batchEnded(batch);
    };
    const isStepped = this.#sessions.get(model)?.begin !== undefined;
    const ran = isStepped
      ? this.#runSteps(message, granted, cancellation, calls, onRan)
      : this.#run(message, false, calls, onRan);
    run.ended = ran.then(
      () => this.#tellIfIdle(),
      // A bug of the worker, which ends the process; an unhandled rejection of user code does not.
      (error: unknown) =>
        queueMicrotask(() => {
          throw error;
        }),
    );
  }

  /** What has arrived may cancel the next job; where there is none, the wire is read when the worker rests. */
  #takeJob(): Job | undefined {
    if (this.#jobs.length > 0) this.#options.listen?.();
    return this.#jobs.shift();
  }

  async #run(
    dispatch: DispatchMessage,
    isCancelled: boolean,
    calls?: RunCalls,
    onRan: () => void = doNothing,
  ): Promise<void> {
    const { batch, inputs, outputs } = dispatch;
    const session = this.#sessions.get(dispatch.model)?.session;
    if (isCancelled) return this.#fail(batch, 'cancelled', 'the batch was cancelled before it began');
    if (session === undefined) return this.#fail(batch, 'unknown-model', `model ${dispatch.model} is not loaded here`);
    const startedAt = this.#options.now();
    const memory = new GuardedOutputMemory(this.#lendOutputs, this.#random);
    let result: RunResult;
    let region: Region;
    try {
      const request: RunRequest = { inputs, outputs, memory };
      result = await session.run(calls === undefined ? request : { ...request, calls });
      region = memory.take(result.outputs);
    } catch (error) {
      onRan();
      memory.release();
      this.#failBy(error, batch, calls !== undefined);
      return;
    }
    onRan();
    this.#answer(batch, result, region, startedAt);
  }

  /** For a decoupled model: its answers are sent as they come, and the answer that ends the batch is empty. */
  async #runSteps(
    { batch, model, inputs, outputs }: DispatchMessage,
    granted: number,
    cancellation: Cancellation,
    calls: RunCalls,
    onRan: () => void,
  ): Promise<void> {
    const { session, begin } = this.#sessions.get(model) as Loaded & { readonly begin: NonNullable<Session['begin']> };
    const takeLoad =
      session.generationLoad === undefined ? undefined : () => session.generationLoad?.() as GenerationLoad;
    const report = (): Pick<FailedMessage, 'generation'> => (takeLoad === undefined ? {} : { generation: takeLoad() });
    const startedAt = this.#options.now();
    this.#stepped.open(batch, granted);
    try {
      await this.#stepped.answer(batch, begin({ inputs, outputs, calls }), cancellation, takeLoad);
    } catch (error) {
      onRan();
      this.#failBy(error, batch, true, report());
      return;
    }
    onRan();
    const runMicros = (this.#options.now() - startedAt) * 1000;
    this.#batchesHeld--;
    this.#send({ kind: 'answered', batch, outputs: [], region: this.#lendOutputs(0), runMicros, ...report() });
  }

  /** A failed run fails its batch, whatever it threw; only `ProcessSpoiled` and failed assertions end the process. */
  #failBy(error: unknown, batch: number, isConcurrent: boolean, report: Pick<FailedMessage, 'generation'> = {}): void {
    if (error instanceof AssertionError) throw error;
    if (error instanceof ProcessSpoiled && this.#options.isOwnProcess === true) throw error;
    if (error instanceof InferenceError) {
      this.#fail(batch, isConcurrent ? error.code : failureCodeFrom(error), error.message, report);
    } else {
      this.#fail(batch, 'inference-failed', error instanceof Error ? error.message : String(error), report);
    }
  }

  #fail(
    batch: number,
    code: FailedMessage['code'],
    message: string,
    report: Pick<FailedMessage, 'generation'> = {},
  ): void {
    this.#batchesHeld--;
    this.#send({ kind: 'failed', batch, code, message, ...report });
  }

  async #load({ spec }: LoadMessage): Promise<void> {
    const startedAt = this.#options.now();
    const bytesBefore = this.#options.residentBytes();
    const processorMsBefore = this.#options.processorMs();
    const { model } = spec;
    let session: Session;
    try {
      if (this.#sessions.has(model)) throw new Error(`model number ${model} is already loaded; unload it first`);
      session = await this.#options.sessions.load(spec);
      const { concurrency } = spec;
      this.#sessions.set(model, { session, isConcurrent: concurrency !== undefined, begin: steppedBy(session, spec) });
      if (concurrency !== undefined) this.#setCredit(Math.min(concurrency, this.#options.creditMax ?? concurrency));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const isFinal = error instanceof UnloadableModel ? { isFinal: true as const } : {};
      this.#send({ kind: 'load-failed', model, message, ...isFinal });
      return;
    }
    const loadMs = this.#options.now() - startedAt;
    const residentBytes = this.#options.residentBytes();
    const addedBytes = Math.max(0, residentBytes - bytesBefore);
    const processorMs = this.#options.processorMs() - processorMsBefore;
    const probe = session.probe === undefined ? {} : { probe: session.probe };
    this.#send({ kind: 'ready', model, loadMs, residentBytes, cost: { addedBytes, processorMs }, ...probe });
  }

  #setCredit(batchesMax: number): void {
    if (batchesMax === this.#batchesMax) return;
    this.#batchesMax = batchesMax;
    this.#send({ kind: 'credit', batchesMax });
  }

  async #unload(model: number): Promise<void> {
    const loaded = this.#sessions.get(model);
    this.#sessions.delete(model);
    for (const run of this.#running.values()) if (run.model === model) await run.ended;
    await loaded?.session.unload();
  }

  async #unloadAll(): Promise<void> {
    for (const model of [...this.#sessions.keys()]) await this.#unload(model);
  }

  #send(message: WorkerMessage): void {
    if (!this.#isClosed) this.#options.send(message);
  }
}

function steppedBy(session: Session, { isDecoupled }: LoadSpec): Session['begin'] {
  const { begin } = session;
  return isDecoupled === true && begin !== undefined ? (request) => begin.call(session, request) : undefined;
}

function failureCodeFrom(error: InferenceError): FailedMessage['code'] {
  const { code } = error;
  return code === 'unsupported' || code === 'unknown-model' || code === 'cancelled' ? code : 'inference-failed';
}

function doNothing(): void {}
