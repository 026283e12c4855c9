/** The runs that answer in steps: each step waits until the router has granted credit for one more answer. */
import type { Cancellation, GenerationLoad, GrantMessage, PartialAnswerMessage } from '@millrace/protocol';
import { InferenceError } from '@millrace/protocol';
import type { RunResult, SteppedRun } from '../engine.ts';
import type { GuardedOutputMemory } from '../guarded-output-memory.ts';

export interface SteppedRunsParts {
  readonly makeMemory: () => GuardedOutputMemory;
  /** Returns why it could not be sent; its region is released then. */
  readonly send: (message: PartialAnswerMessage) => InferenceError | undefined;
}

/** How many more answers the router takes for one batch. */
interface Credit {
  answers: number;
  /** Called when there is credit again; undefined: nobody waits for it. */
  onGrant: (() => void) | undefined;
}

/** Of a generator: how much it has to do now. */
export type TakeLoad = () => GenerationLoad;

export class SteppedRuns {
  readonly #parts: SteppedRunsParts;
  readonly #credits = new Map<number, Credit>();

  constructor(parts: SteppedRunsParts) {
    this.#parts = parts;
  }

  /** Credit for a batch that has ended is late, and is ignored. */
  grant({ batch, answers }: GrantMessage): void {
    const credit = this.#credits.get(batch);
    if (credit === undefined) return;
    credit.answers += answers;
    const { onGrant } = credit;
    credit.onGrant = undefined;
    onGrant?.();
  }

  /** `answers`: the credit that was granted before the batch began. */
  open(batch: number, answers: number): void {
    this.#credits.set(batch, { answers, onGrant: undefined });
  }

  /** Sends the answers of the run; resolves after the last one. Rejects when a step does, and with `cancelled` when it was cancelled. */
  async answer(batch: number, run: SteppedRun, cancellation: Cancellation, takeLoad?: TakeLoad): Promise<void> {
    const credit = this.#credits.get(batch) as Credit;
    const { pulled } = run;
    // Empty after every answer, so that one serves all.
    const memory = this.#parts.makeMemory();
    let isOver = false;
    cancellation.onCancel(() => {
      if (isOver) return;
      isOver = true;
      run.end();
      credit.onGrant?.();
    });
    try {
      for (let sequence = 1; ; sequence++) {
        if (credit.answers === 0 && !isOver) await granted(credit);
        if (isOver) throw new InferenceError('cancelled', 'nobody waits for the answer');
        credit.answers -= 1;
        try {
          let result: RunResult | undefined;
          if (pulled === undefined) result = await run.step(memory);
          else {
            let given: unknown;
            try {
              given = await pulled.next();
            } catch (error) {
              throw pulled.failureFrom(error);
            }
            result = pulled.layOut(given, memory);
          }
          if (result === undefined) return;
          const { outputs, usage } = result;
          const region = memory.take(outputs);
          const load = takeLoad?.();
          const answer: PartialAnswerMessage = { kind: 'partial-answer', batch, sequence, outputs, region };
          const isReported = load !== undefined && usage !== undefined;
          this.#send(isReported ? { ...answer, generation: { ...load, usage } } : answer, run);
        } catch (error) {
          memory.release();
          throw error;
        }
      }
    } finally {
      isOver = true;
      this.#credits.delete(batch);
    }
  }

  #send(answer: PartialAnswerMessage, run: SteppedRun): void {
    const problem = this.#parts.send(answer);
    if (problem === undefined) return;
    run.end();
    throw problem;
  }
}

function granted(credit: Credit): Promise<void> {
  return new Promise((resolve) => {
    credit.onGrant = resolve;
  });
}
