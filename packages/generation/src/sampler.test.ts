import { expect, test } from 'vitest';
import { readGenerationConfig } from './generation-config.ts';
import { parseGenerationParameters } from './generation-parameters.ts';
import { Sampler, SamplerScratch } from './sampler.ts';
import { TokenHistory } from './token-history.ts';

const none = new TokenHistory([]);

interface Case {
  readonly logits: readonly number[];
  readonly history?: TokenHistory;
  readonly seed?: bigint;
  readonly eos?: number[];
}

function samplerOf(
  parameters: Record<string, number | object>,
  { logits, seed = 1n, eos = [] }: Case,
): { sampler: Sampler; scratch: SamplerScratch; given: Float32Array } {
  const scratch = new SamplerScratch(logits.length);
  const defaults = readGenerationConfig({ eos_token_id: eos });
  const limits = { vocabularySize: logits.length, outputTokensMax: 1000 };
  const parsed = parseGenerationParameters(parameters as never, defaults, limits);
  return { sampler: new Sampler(parsed, seed, scratch), scratch, given: Float32Array.from(logits) };
}

/** The tokens that may be drawn, and their probabilities. */
function distribution(parameters: Record<string, number | object>, one: Case, tokenIndex = 0): [number, number][] {
  const { sampler, scratch, given } = samplerOf(parameters, one);
  const kept = sampler.filter(given, one.history ?? none, tokenIndex);
  const weights = [...scratch.weights.subarray(0, kept)];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight, index) => [scratch.candidates[index] as number, weight / total]);
}

function idsOf(entries: [number, number][]): number[] {
  return entries.map(([id]) => id);
}

function greedy(parameters: Record<string, number | object>, one: Case, tokenIndex = 0): number {
  const { sampler, given } = samplerOf({ temperature: 0, ...parameters }, one);
  return sampler.sample(given, one.history ?? none, tokenIndex);
}

test('temperature 0 takes the most probable token, of equal ones that with the lowest id', () => {
  expect(greedy({}, { logits: [1, 3, 2, 3] })).toBe(1);
});

test('probabilities are those of a softmax at the temperature', () => {
  const [first, second] = distribution({ temperature: 2 }, { logits: [2, 0] });
  expect(first?.[1]).toBeCloseTo(Math.E / (Math.E + 1), 12);
  expect(second?.[1]).toBeCloseTo(1 / (Math.E + 1), 12);
});

test('top-k keeps the k most probable, and all that equal the last of them', () => {
  const logits = [0, 5, -1, 5, 4, 3, 4];
  expect(idsOf(distribution({ top_k: 2 }, { logits }))).toEqual([1, 3]);
  expect(idsOf(distribution({ top_k: 3 }, { logits }))).toEqual([1, 3, 4, 6]);
  expect(idsOf(distribution({ top_k: 7 }, { logits })).length).toBe(7);
  expect(idsOf(distribution({ top_k: -1 }, { logits })).length).toBe(7);
});

test('top-p keeps the fewest that reach the share, of equal ones those with the lowest ids', () => {
  const logits = [0.1, 0.4, 0.2, 0.2, 0.1].map(Math.log);
  expect(idsOf(distribution({ top_p: 0.4 }, { logits }))).toEqual([1]);
  expect(idsOf(distribution({ top_p: 0.41 }, { logits }))).toEqual([1, 2]);
  expect(idsOf(distribution({ top_p: 0.85 }, { logits }))).toEqual([0, 1, 2, 3]);
  expect(idsOf(distribution({ top_p: 1e-9 }, { logits }))).toEqual([1]);
});

test('min-p is a share of the most probable token, and top-p counts what it leaves', () => {
  const logits = [0.5, 0.25, 0.15, 0.1].map(Math.log);
  expect(idsOf(distribution({ min_p: 0.25 }, { logits }))).toEqual([0, 1, 2]);
  expect(idsOf(distribution({ min_p: 0.25, top_p: 0.8 }, { logits }))).toEqual([0, 1]);
  expect(idsOf(distribution({ top_p: 0.8 }, { logits }))).toEqual([0, 1, 2]);
});

test('the repetition penalty is for prompt and output, the others for the output only', () => {
  const history = new TokenHistory([0]);
  history.addOutput(1);
  history.addOutput(1);
  history.addOutput(2);
  // [2, 2, -1, 1.5] by division and multiplication: [1, 1, -2, 1.5]
  expect(greedy({ repetition_penalty: 2 }, { logits: [2, 2, -1, 1.5], history })).toBe(3);
  expect(greedy({ presence_penalty: 0.6 }, { logits: [1, 1.5, 1.4, 0], history })).toBe(0);
  expect(greedy({ frequency_penalty: 0.3 }, { logits: [1, 1.5, 1.4, 0], history })).toBe(2);
});

test('a bias is added before the penalties', () => {
  const history = new TokenHistory([0, 1]);
  // 2 + 4 is halved to 3; added after the penalty, the bias would make it 5.
  expect(greedy({ logit_bias: { 0: 4 }, repetition_penalty: 2 }, { logits: [2, 0, 4], history })).toBe(2);
  // 6 - 8 is doubled to -4; 6 would be halved to 3 and become -5.
  expect(greedy({ logit_bias: { 0: -8 }, repetition_penalty: 2 }, { logits: [6, -20, -4.5], history })).toBe(0);
});

test('a bias counts without penalties too', () => {
  expect(greedy({ logit_bias: { 2: 100 } }, { logits: [50, 0, 0] })).toBe(2);
  expect(greedy({ logit_bias: { 0: -100 } }, { logits: [50, 0, 1] })).toBe(2);
});

test('no end-of-text token is chosen before the least number of tokens', () => {
  const one = { logits: [9, 1, 8], eos: [0, 2] };
  expect(greedy({ min_tokens: 3 }, one, 2)).toBe(1);
  expect(greedy({ min_tokens: 3 }, one, 3)).toBe(0);
});

test('a position draws the same token whatever was drawn before, and positions and seeds differ', () => {
  const logits = Array.from({ length: 1000 }, (_, id) => (id % 7) / 7);
  const drawn = (seed: bigint, order: readonly number[]): Map<number, number> => {
    const { sampler, given } = samplerOf({}, { logits, seed });
    return new Map(order.map((at) => [at, sampler.sample(given, none, at)]));
  };
  const upwards = Array.from({ length: 50 }, (_, at) => at);
  const first = drawn(3n, upwards);
  expect(drawn(3n, upwards.toReversed())).toEqual(new Map([...first].toReversed()));
  expect(new Set(first.values()).size).toBeGreaterThan(40);
  expect(drawn(4n, upwards)).not.toEqual(first);
});

test('streams that share the scratch memory do not disturb each other', () => {
  const scratch = new SamplerScratch(4);
  const parameters = parseGenerationParameters({}, readGenerationConfig({}), { vocabularySize: 4, outputTokensMax: 9 });
  const [left, right] = [new Sampler(parameters, 1n, scratch), new Sampler({ ...parameters, topK: 1 }, 2n, scratch)];
  const logits = Float32Array.of(1, 1, 1, 2);
  const alone = [0, 1, 2, 3].map((at) => left.sample(logits, none, at));
  const together = [0, 1, 2, 3].map((at) => {
    expect(right.sample(logits, none, at)).toBe(3);
    return left.sample(logits, none, at);
  });
  expect(together).toEqual(alone);
  expect([...logits]).toEqual([1, 1, 1, 2]);
});

test('what is not a number is never chosen, and infinity always', () => {
  const logits = [Number.NaN, 1, Number.NEGATIVE_INFINITY, 2];
  expect(greedy({}, { logits })).toBe(3);
  expect(idsOf(distribution({ top_k: 3 }, { logits }))).toEqual([1, 3]);
  const infinite = samplerOf({}, { logits: [0, Infinity, Infinity] });
  expect(infinite.sampler.sample(infinite.given, none, 0)).toBe(1);
});

test('logits without a number, and of another size, are errors', () => {
  expect(() => greedy({}, { logits: [Number.NaN, Number.NEGATIVE_INFINITY] })).toThrow('no logit is a number');
  const { sampler } = samplerOf({}, { logits: [1, 2] });
  expect(() => sampler.sample(new Float32Array(3), none, 0)).toThrow('got 3 logits for a vocabulary of 2');
});

test('zeros of both signs are equal', () => {
  expect(idsOf(distribution({ top_p: 0.5 }, { logits: [-0, 0, -0, 0] }))).toEqual([0, 1]);
  expect(idsOf(distribution({ top_k: 1 }, { logits: [-0, 0, -1] }))).toEqual([0, 1]);
});
