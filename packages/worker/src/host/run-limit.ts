import { type GeneratorProbe, InferenceError } from '@millrace/protocol';
import type { RunRequest, RunResult, Session, SteppedRun, SteppedRunRequest } from '../engine.ts';

/** How many runs of one session are in progress at most; others wait in the order in which they came. */
export class RunLimit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(runsMax: number) {
    this.#free = runsMax;
  }

  take(): Promise<void> {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#free -= 1;
    return Promise.resolve();
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

/** Several links use a session, each with credit for as many runs as the model allows: together they keep to that number. */
export class LimitedSession implements Session {
  readonly #session: Session;
  readonly #limit: RunLimit;
  readonly #onUnload: () => Promise<void>;

  constructor(session: Session, limit: RunLimit, onUnload: () => Promise<void>) {
    this.#session = session;
    this.#limit = limit;
    this.#onUnload = onUnload;
  }

  async run(request: RunRequest): Promise<RunResult> {
    await this.#limit.take();
    try {
      if (request.calls?.signal.reason !== undefined) throw cancelled();
      return await this.#session.run(request);
    } finally {
      this.#limit.release();
    }
  }

  begin(request: SteppedRunRequest): SteppedRun {
    let run: SteppedRun | undefined;
    let isOver = false;
    const over = (): void => {
      if (!isOver && run !== undefined) this.#limit.release();
      isOver = true;
    };
    return {
      step: async (memory) => {
        if (run === undefined) {
          await this.#limit.take();
          run = isOver ? undefined : this.#session.begin?.(request);
        }
        if (run === undefined) {
          this.#limit.release();
          throw cancelled();
        }
        try {
          const result = await run.step(memory);
          if (result === undefined) over();
          return result;
        } catch (error) {
          over();
          throw error;
        }
      },
      end: () => {
        run?.end();
        over();
      },
    };
  }

  get probe(): GeneratorProbe | undefined {
    return this.#session.probe;
  }

  /** All links' texts together. */
  get generationLoad(): Session['generationLoad'] {
    const { generationLoad } = this.#session;
    return generationLoad && (() => generationLoad.call(this.#session));
  }

  unload(): Promise<void> {
    return this.#onUnload();
  }
}

function cancelled(): InferenceError {
  return new InferenceError('cancelled', 'nobody waits for the answer');
}
