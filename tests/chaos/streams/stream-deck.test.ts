import { expect, test } from 'vitest';
import { FuzzRandom } from '../../fuzz/random.ts';
import { dialects } from './edges.ts';
import { StreamDeck } from './stream-deck.ts';
import { plansFor, streamedModels } from './stream-plans.ts';

const plans = plansFor(new FuzzRandom(1), 1, 100);

test.each([1, 2, 3])('every edge gets every model before anything else, with seed %i', (seed) => {
  const deck = new StreamDeck(plans, dialects, new FuzzRandom(seed));
  const wanted = dialects.flatMap(({ name }) => streamedModels.map((model) => `${name} ${model}`));
  const drawn = wanted.map(() => deck.draw()).map(({ plan, dialect }) => `${dialect.name} ${plan.model}`);
  expect(drawn.sort()).toEqual(wanted.sort());
});

test('edges with one input get plans with one input only, however many are drawn', () => {
  const deck = new StreamDeck(plans, dialects, new FuzzRandom(1));
  for (let count = 0; count < 500; count++) {
    const { plan, dialect } = deck.draw();
    if (dialect.hasOneInput) expect(plan.inputs).toHaveLength(1);
  }
});
