/**
 * Budget: 3 ms a token for a vocabulary of 150,000 with top-k, top-p and penalties, and half of a sort for top-p alone. Run with `npx vitest bench packages/generation/src`. The baseline beside it reads all logits once, and the sort is what the cut by
 * bits replaces.
 */
import { bench, describe } from 'vitest';
import { readGenerationConfig } from './generation-config.ts';
import { parseGenerationParameters } from './generation-parameters.ts';
import { PositionalRandom } from './philox.ts';
import { Sampler, SamplerScratch } from './sampler.ts';
import { TokenHistory } from './token-history.ts';

const vocabularySize = 150_000;
const random = new PositionalRandom(1n);
/** Sums of uniform numbers: about as spread as the logits of a language model. */
const logits = Float32Array.from({ length: vocabularySize }, (_, id) => {
  return 4 * (random.at(3 * id) + random.at(3 * id + 1) + random.at(3 * id + 2)) - 6;
});
const history = new TokenHistory(Array.from({ length: 500 }, (_, index) => index * 7));
for (let index = 0; index < 500; index++) history.addOutput(index * 11);
const scratch = new SamplerScratch(vocabularySize);

function sampling(parameters: Record<string, number>): () => void {
  const limits = { vocabularySize, outputTokensMax: 1000 };
  const sampler = new Sampler(parseGenerationParameters(parameters, readGenerationConfig({}), limits), 7n, scratch);
  let tokenIndex = 0;
  return () => {
    sampler.sample(logits, history, tokenIndex++);
  };
}

describe('one token of a vocabulary of 150,000', () => {
  bench('baseline: the greatest logit', () => {
    let greatest = Number.NEGATIVE_INFINITY;
    for (let id = 0; id < logits.length; id++) greatest = Math.max(greatest, logits[id] as number);
    if (greatest < 0) throw new Error('logits are below 0');
  });
  bench('temperature 0', sampling({ temperature: 0 }));
  bench('temperature 1', sampling({}));
  bench('top-k 50', sampling({ top_k: 50 }));
  bench('top-p 0.95', sampling({ top_p: 0.95 }));
  bench('top-k 50, top-p 0.95, penalties', sampling({ top_k: 50, top_p: 0.95, repetition_penalty: 1.1 }));
  bench('for comparison: a sort', () => {
    logits.toSorted();
  });
});
