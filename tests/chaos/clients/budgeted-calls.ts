/** Unary calls with deadlines beside the streams: how far they go over their budgets is measured, and published. */
import { type Client, type ClientEvent, MillraceError } from '@millrace/client';
import type { FuzzRandom } from '../../fuzz/random.ts';

const deadlinesMs = [100, 250, 500, 1000, 3000];
const bucketsMs = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export class BudgetedCalls {
  readonly #random: FuzzRandom;
  readonly #underWay = new Set<Promise<void>>();
  /** When calls must have ended, by what identifies them to an observer. */
  readonly #deadlines = new WeakMap<object, number>();
  /** Of the call that begins in this turn. */
  #deadlineAt = 0;
  readonly outcomes = new Map<string, number>();
  /** How long after its deadline a call ended with an error. */
  readonly overshootsMs: number[] = [];
  attempts = 0;
  /** Attempts by how long after the deadline they began; there should be none. */
  lateAttempts = 0;
  readonly problems: string[] = [];

  constructor(random: FuzzRandom) {
    this.#random = random;
  }

  /** For `observe` of the clients. The first attempt of a call begins in the turn of the call. */
  readonly observe = (event: ClientEvent): void => {
    if (event.kind !== 'attempt-started' || event.call.method !== 'ModelInfer') return;
    if (event.attempt === 1) this.#deadlines.set(event.call, this.#deadlineAt);
    this.attempts += 1;
    if (performance.now() > (this.#deadlines.get(event.call) ?? 0)) this.lateAttempts += 1;
  };

  call(client: Client): void {
    const deadlineMs = this.#random.pick(deadlinesMs);
    this.#deadlineAt = performance.now() + deadlineMs;
    const one = this.#run(client, deadlineMs, this.#deadlineAt).finally(() => this.#underWay.delete(one));
    this.#underWay.add(one);
  }

  async settle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #run(client: Client, deadlineMs: number, deadlineAt: number): Promise<void> {
    let outcome = 'answered';
    try {
      const input = { shape: [1, 64], data: new Float32Array(64) };
      await client.infer('mlp', { input }, { deadlineMs });
    } catch (error) {
      outcome = error instanceof MillraceError ? error.code : 'no error of the client';
      if (!(error instanceof MillraceError)) this.problems.push(String(error));
    }
    const overMs = performance.now() - deadlineAt;
    if (overMs > 0) this.overshootsMs.push(overMs);
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  print(): void {
    const counts = [...this.outcomes].map(([outcome, count]) => `${outcome} ${count}`);
    console.log(`calls with deadlines: ${counts.join(', ')}; ${this.attempts} attempts`);
    console.log(`  attempts observed after their deadline: ${this.lateAttempts}`);
    const parts: string[] = [];
    let below = 0;
    for (const limit of [...bucketsMs, Number.POSITIVE_INFINITY]) {
      const count = this.overshootsMs.filter((ms) => ms <= limit).length;
      if (count > below) parts.push(`${limit === Number.POSITIVE_INFINITY ? 'above' : `<=${limit}`}: ${count - below}`);
      below = count;
    }
    console.log(`  ended after their deadline by ms: ${parts.join('  ') || 'none'}`);
  }
}
