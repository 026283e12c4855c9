import assert from 'node:assert';
import type {
  DispatchMessage,
  FailedMessage,
  LoadMessage,
  LoadSpec,
  Region,
  ToWorker,
  UnloadMessage,
  WorkerMessage,
} from '@millrace/protocol';
import { InferenceError } from '@millrace/protocol';
import type { Engine, RunResult, Session } from '../engine.ts';
import { runWarmUp } from '../warm-up/run-warm-up.ts';

/** One batch runs while the next one waits, so that a worker is never idle for as long as an answer travels. */
export const batchesMaxDefault = 2;

export interface WorkerHostOptions {
  readonly engines: readonly Engine[];
  /** How many batches are held at once, the running one included. */
  readonly batchesMax: number;
  /** Milliseconds, for measuring only. */
  readonly now: () => number;
  readonly residentBytes: () => number;
  /** Memory for outputs, laid where the router will read it. */
  readonly lend: (bytes: number) => Region;
  /** Called between two jobs: the place to receive what has arrived meanwhile. */
  readonly listen?: () => void;
  /** Called when nothing is left to do. */
  readonly onIdle?: () => void;
  /** Never called from inside `receive` or `start`. */
  readonly send: (message: WorkerMessage) => void;
}

interface Job {
  readonly message: LoadMessage | UnloadMessage | DispatchMessage;
  isCancelled: boolean;
}

/**
 * What a worker does, whatever carries its messages: takes them in order and finishes each before the next, so that
 * answers come in dispatch order and a dispatch behind a load finds its model.
 */
export class WorkerHost {
  readonly #options: WorkerHostOptions;
  readonly #sessions = new Map<number, Session>();
  readonly #jobs: Job[] = [];
  readonly #lendOutputs: (bytes: number) => Region;
  #batchesHeld = 0;
  #isWorking: boolean = false;
  #isClosed: boolean = false;
  #onFinished: (() => void) | undefined;

  constructor(options: WorkerHostOptions) {
    this.#options = options;
    this.#lendOutputs = options.lend;
  }

  /** Says how many batches it takes; the router sends none before. */
  start(): void {
    queueMicrotask(() => this.#send({ kind: 'credit', batchesMax: this.#options.batchesMax }));
  }

  /** Whether it has jobs, or one under way. */
  get isWorking(): boolean {
    return this.#isWorking;
  }

  receive(message: ToWorker): void {
    if (this.#isClosed) return;
    if (message.kind === 'cancel') {
      const job = this.#jobs.find((job) => job.message.kind === 'dispatch' && job.message.batch === message.batch);
      if (job !== undefined) job.isCancelled = true;
      return;
    }
    if (message.kind === 'dispatch') {
      this.#batchesHeld++;
      const { batchesMax } = this.#options;
      assert(this.#batchesHeld <= batchesMax, `the router sent more than the ${batchesMax} batches it had credit for`);
    }
    this.#jobs.push({ message, isCancelled: false });
    if (this.#isWorking) return;
    this.#isWorking = true;
    queueMicrotask(() => void this.#work());
  }

  /** Calls back when everything received so far is done, at the earliest in a later microtask. */
  finish(onFinished: () => void): void {
    if (this.#isWorking) this.#onFinished = onFinished;
    else queueMicrotask(onFinished);
  }

  /** Says nothing more, forgets what waits and gives the models back once the run in progress has ended. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#jobs.length = 0;
    if (!this.#isWorking) void this.#unloadAll();
  }

  async #work(): Promise<void> {
    for (let job = this.#takeJob(); job !== undefined; job = this.#takeJob()) {
      switch (job.message.kind) {
        case 'dispatch':
          await this.#run(job.message, job.isCancelled);
          break;
        case 'load':
          await this.#load(job.message);
          break;
        case 'unload':
          await this.#unload(job.message.model);
          break;
      }
    }
    this.#isWorking = false;
    if (this.#isClosed) await this.#unloadAll();
    this.#onFinished?.();
    this.#options.onIdle?.();
  }

  #takeJob(): Job | undefined {
    this.#options.listen?.();
    return this.#jobs.shift();
  }

  async #run(dispatch: DispatchMessage, isCancelled: boolean): Promise<void> {
    const { batch, inputs, outputs } = dispatch;
    const session = this.#sessions.get(dispatch.model);
    if (isCancelled) return this.#fail(batch, 'cancelled', 'the batch was cancelled before it began');
    if (session === undefined) return this.#fail(batch, 'unknown-model', `model ${dispatch.model} is not loaded here`);
    const startedAt = this.#options.now();
    let result: RunResult;
    try {
      result = await session.run({ inputs, outputs, lend: this.#lendOutputs });
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
      this.#fail(batch, failureCodeFrom(error), error.message);
      return;
    }
    const runMicros = (this.#options.now() - startedAt) * 1000;
    this.#batchesHeld--;
    if (this.#isClosed) result.region.release();
    else this.#send({ kind: 'answered', batch, outputs: result.outputs, region: result.region, runMicros });
  }

  #fail(batch: number, code: FailedMessage['code'], message: string): void {
    this.#batchesHeld--;
    this.#send({ kind: 'failed', batch, code, message });
  }

  async #load({ spec }: LoadMessage): Promise<void> {
    const startedAt = this.#options.now();
    const { model } = spec;
    try {
      if (this.#sessions.has(model)) throw new Error(`model number ${model} is loaded already: unload it first`);
      const engine = this.#options.engines.find(({ name }) => name === spec.engine);
      if (engine === undefined) throw new Error(`this worker has no engine "${spec.engine}"`);
      this.#sessions.set(model, await warmedUp(await engine.load(spec), spec));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#send({ kind: 'load-failed', model, message });
      return;
    }
    const loadMs = this.#options.now() - startedAt;
    this.#send({ kind: 'ready', model, loadMs, residentBytes: this.#options.residentBytes() });
  }

  async #unload(model: number): Promise<void> {
    const session = this.#sessions.get(model);
    this.#sessions.delete(model);
    await session?.unload();
  }

  async #unloadAll(): Promise<void> {
    for (const model of [...this.#sessions.keys()]) await this.#unload(model);
  }

  #send(message: WorkerMessage): void {
    if (!this.#isClosed) this.#options.send(message);
  }
}

async function warmedUp(session: Session, spec: LoadSpec): Promise<Session> {
  try {
    await runWarmUp(session, spec);
    return session;
  } catch (error) {
    await session.unload();
    throw error;
  }
}

function failureCodeFrom(error: InferenceError): FailedMessage['code'] {
  const { code } = error;
  return code === 'unsupported' || code === 'unknown-model' || code === 'cancelled' ? code : 'inference-failed';
}
