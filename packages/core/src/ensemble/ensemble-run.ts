import { assert } from '../assert.ts';
import { type EnsemblePlan, stepsNeededFor } from './ensemble-plan.ts';

/**
 * Decides for one request of an ensemble which steps start now, and which answers are no longer needed. Steps are
 * named by their index in the plan; steps that no wanted output depends on are never started.
 */
export class EnsembleRun {
  readonly #plan: EnsemblePlan;
  readonly #isNeeded: readonly boolean[];
  /** Steps that must still answer before this one can start. */
  readonly #missing: number[];
  /** Steps that have not ended and read this one's outputs; the caller counts as one for wanted outputs. */
  readonly #readers: number[];
  #startable: number[] = [];
  #unread: number[] = [];
  #leftCount = 0;
  #runningCount = 0;
  #hasFailed: boolean = false;

  /** `outputs` are the indexes of the wanted outputs in the plan. */
  constructor(plan: EnsemblePlan, outputs: readonly number[]) {
    this.#plan = plan;
    const producers = outputs.map((output) => plan.outputs[output]?.step as number);
    this.#isNeeded = stepsNeededFor(plan.steps, producers);
    this.#missing = plan.steps.map(({ after }) => after.length);
    this.#readers = plan.steps.map(({ before }) => before.filter((step) => this.#isNeeded[step]).length);
    for (const step of new Set(producers)) this.#readers[step] = (this.#readers[step] as number) + 1;
    for (const [step, isNeeded] of this.#isNeeded.entries()) {
      if (!isNeeded) continue;
      this.#leftCount += 1;
      if (this.#missing[step] === 0) this.#startable.push(step);
    }
  }

  /** All wanted outputs are available. */
  get isDone(): boolean {
    return this.#leftCount === 0;
  }

  /** One step has not ended, whose answer completes the wanted outputs. */
  get isAtLastStep(): boolean {
    return this.#leftCount === 1;
  }

  /** It failed or was cancelled, and no step of it runs any more. */
  get isOver(): boolean {
    return this.#hasFailed && this.#runningCount === 0;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Steps to start now; each is returned once. */
  takeStartable(): readonly number[] {
    const startable = this.#startable;
    this.#startable = [];
    this.#runningCount += startable.length;
    return startable;
  }

  /** Steps whose answers are no longer needed, each returned once; those with wanted outputs belong to the caller. */
  takeUnread(): readonly number[] {
    const unread = this.#unread;
    this.#unread = [];
    return unread;
  }

  answered(step: number): void {
    this.#ended();
    this.#leftCount -= 1;
    const { after, before } = this.#plan.steps[step] as EnsemblePlan['steps'][number];
    for (const earlier of after) {
      const readers = (this.#readers[earlier] as number) - 1;
      this.#readers[earlier] = readers;
      if (readers === 0) this.#unread.push(earlier);
    }
    for (const later of before) {
      const missing = (this.#missing[later] as number) - 1;
      this.#missing[later] = missing;
      if (missing === 0 && this.#isNeeded[later] === true && !this.#hasFailed) this.#startable.push(later);
    }
  }

  /** No further step starts; the driver cancels what runs and waits until it `isOver`. */
  failed(): void {
    this.#ended();
    this.abandon();
  }

  /** Nobody waits for it any more. */
  abandon(): void {
    this.#hasFailed = true;
    this.#startable = [];
  }

  #ended(): void {
    assert(this.#runningCount > 0, 'a step that ends was started before');
    this.#runningCount -= 1;
  }
}
