/** The sequences of all callers: each goes on until it ends or a step of it is refused, and another one follows under its id. */
import type { SequenceStep } from '@millrace/router';
import type { SimulatedSequence, SimulatedStep } from '../referees/call-referee.ts';
import type { SimulationRandom } from '../world/random.ts';

interface LiveSequence {
  readonly sequence: SimulatedSequence;
  steps: number;
  isEnded: boolean;
}

/** Ids that a caller uses; two callers use the same. */
const idsMax = 3;

export class Sequences {
  readonly #random: SimulationRandom;
  readonly #live = new Map<string, LiveSequence>();

  constructor(random: SimulationRandom) {
    this.#random = random;
  }

  /** The next step of one of a caller's sequences, as the caller knows it and as it is sent. */
  next(caller: string, question: number): { readonly step: SimulatedStep; readonly sent: SequenceStep } {
    const random = this.#random;
    const id = random.integer(1, idsMax);
    const key = `${caller} ${id}`;
    const live = this.#live.get(key);
    const isEnd = random.chance(0.2);
    if (live === undefined || !mayGoOn(live) || random.chance(0.05)) {
      const sequence: SimulatedSequence = {
        startQuestion: question,
        answered: 0,
        stamp: 0,
        brokenAt: Infinity,
        isUnsure: false,
      };
      this.#live.set(key, { sequence, steps: 1, isEnded: isEnd });
      return { step: { sequence, index: 1, isStart: true }, sent: { id: BigInt(id), isStart: true, isEnd } };
    }
    live.steps += 1;
    live.isEnded = isEnd;
    const step = { sequence: live.sequence, index: live.steps, isStart: false };
    return { step, sent: { id: BigInt(id), isStart: false, isEnd } };
  }
}

function mayGoOn({ sequence, isEnded }: LiveSequence): boolean {
  return !isEnded && sequence.brokenAt === Infinity;
}
