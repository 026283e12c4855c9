import type { ErrorCode } from '@millrace/protocol';
import type { SimulationRandom } from './random.ts';
import type { Weather } from './weather.ts';

/** What a question does to whoever runs it. `blocking`: it hangs, and what runs beside it hangs with it. */
export type Nature = 'plain' | 'poison' | 'hanging' | 'blocking' | 'failing';

/** A rule was broken: a forbidden action, or a missing one. */
export class TruthViolation extends Error {}

export function claim(isTrue: boolean, what: string): asserts isTrue {
  if (!isTrue) throw new TruthViolation(what);
}

/**
 * The facts of the world, which the router may not know: the nature of each question, and what happened to those who ran
 * it. The rows of a request carry the number of its question; requests for cached models may ask the same one.
 */
export class Truth {
  readonly #natures = new Map<number, Nature>();
  /** Their worker died under them for no reason, or one of their own batch was no good. */
  readonly #unlucky = new Set<number>();
  readonly #failed = new Set<number>();
  readonly #lost = new Set<number>();

  decide(question: number, random: SimulationRandom, weather: Weather): void {
    if (random.chance(weather.poisonRequest)) this.#natures.set(question, 'poison');
    else if (random.chance(weather.hangingRequest)) {
      this.#natures.set(question, random.chance(0.5) ? 'hanging' : 'blocking');
    } else if (random.chance(weather.failingRequest)) this.#natures.set(question, 'failing');
  }

  natureOf(question: number): Nature {
    return this.#natures.get(question) ?? 'plain';
  }

  has(questions: readonly number[], nature: Nature): boolean {
    return questions.some((question) => this.#natures.get(question) === nature);
  }

  noteMisfortune(questions: readonly number[]): void {
    for (const question of questions) this.#unlucky.add(question);
  }

  noteBatch(questions: readonly number[]): void {
    if (questions.length > 1 && questions.some((question) => this.#natures.has(question))) {
      this.noteMisfortune(questions);
    }
  }

  /** A worker said that a batch with these failed. */
  noteFailed(questions: readonly number[]): void {
    for (const question of questions) this.#failed.add(question);
  }

  /** A worker ended with these in its hands. */
  noteLost(questions: readonly number[]): void {
    for (const question of questions) this.#lost.add(question);
  }

  /** Whether a run of the question has failed, or a worker ended with it. */
  hasFailed(question: number): boolean {
    return this.#failed.has(question);
  }

  hasFailedOrLost(question: number): boolean {
    return this.#lost.has(question) || this.#failed.has(question);
  }

  /** Nobody is refused for a run that never failed, and nobody for what only others did. */
  claimJust(question: number, code: ErrorCode, isConcurrent: boolean): void {
    if (code === 'inference-failed') claim(this.hasFailed(question), `no run of question ${question} has failed`);
    if (code === 'poison-request' || code === 'run-time-limit' || code === 'worker-lost') {
      claim(
        this.hasFailedOrLost(question),
        `question ${question} is refused as ${code}, but no worker ended or refused to run it`,
      );
    }
    if (!isConcurrent || (code !== 'poison-request' && code !== 'run-time-limit')) return;
    const isGuilty = this.#natures.has(question) || this.#unlucky.has(question);
    claim(isGuilty, `question ${question} is refused as ${code} for what another did`);
  }
}
