/** Which plan goes by which edge next: every edge with every model first, then everything that fits, as the seed shuffles it. */
import type { FuzzRandom } from '../../fuzz/random.ts';
import type { StreamDialect } from './dialect.ts';
import { type StreamPlan, streamedModels } from './stream-plans.ts';

export interface StreamCard {
  readonly plan: StreamPlan;
  readonly dialect: StreamDialect;
}

export class StreamDeck {
  readonly #cards: readonly StreamCard[];
  readonly #random: FuzzRandom;
  #left: StreamCard[];

  constructor(plans: readonly StreamPlan[], dialects: readonly StreamDialect[], random: FuzzRandom) {
    this.#cards = plans.flatMap((plan) => dialectsFor(plan, dialects).map((dialect) => ({ plan, dialect })));
    this.#random = random;
    const shuffled = this.#shuffled();
    const first = dialects.flatMap((dialect) =>
      streamedModels.flatMap(
        (model) => shuffled.find((card) => card.dialect === dialect && card.plan.model === model) ?? [],
      ),
    );
    this.#left = [...first, ...shuffled.filter((card) => !first.includes(card))];
  }

  draw(): StreamCard {
    if (this.#left.length === 0) this.#left = this.#shuffled();
    return this.#left.shift() as StreamCard;
  }

  #shuffled(): StreamCard[] {
    const cards = [...this.#cards];
    for (let end = cards.length - 1; end > 0; end--) {
      const at = this.#random.below(end + 1);
      [cards[at], cards[end]] = [cards[end] as StreamCard, cards[at] as StreamCard];
    }
    return cards;
  }
}

/** The edges that can carry its streams. */
export function dialectsFor(plan: StreamPlan, dialects: readonly StreamDialect[]): readonly StreamDialect[] {
  return dialects.filter(({ hasOneInput }) => !hasOneInput || plan.inputs.length === 1);
}
