/**
 * Chooses the next token by the logits of a step, in the order of vLLM: logit bias, repetition penalty (tokens of prompt and output),
 * frequency and presence penalty (tokens of the output), temperature, top-k, min-p, top-p, one draw.
 *
 * The choice is a function of the logits, the parameters, the history and the token's index, and of nothing else. It is exact to the
 * bit for the same build of Node and the same kind of processor: everything is IEEE arithmetic in a fixed order except `Math.exp`,
 * which ECMAScript leaves to the engine, and which may differ in the last bit from one version of V8 to another.
 */
import type { SamplingParameters } from './generation-parameters.ts';
import { PositionalRandom } from './philox.ts';
import { cutByMass, thresholdByCount } from './radix-cut.ts';
import type { TokenHistory } from './token-history.ts';

/** Memory for the steps of any number of streams with one vocabulary size, one after the other. */
export class SamplerScratch {
  readonly vocabularySize: number;
  /** Logits after bias and penalties, and the same bits as integers. */
  readonly logits: Float32Array<ArrayBuffer>;
  readonly bits: Int32Array<ArrayBuffer>;
  /** Of each candidate: its token and its weight relative to the most probable token. */
  readonly candidates: Uint32Array<ArrayBuffer>;
  readonly weights: Float64Array<ArrayBuffer>;
  /** Counts or weights by the bits of a value. */
  readonly bins = new Float64Array(2048);

  constructor(vocabularySize: number) {
    this.vocabularySize = vocabularySize;
    this.logits = new Float32Array(vocabularySize);
    this.bits = new Int32Array(this.logits.buffer);
    this.candidates = new Uint32Array(vocabularySize);
    this.weights = new Float64Array(vocabularySize);
  }
}

/** The sampling of one stream. */
export class Sampler {
  readonly #parameters: SamplingParameters;
  readonly #scratch: SamplerScratch;
  readonly #random: PositionalRandom;
  readonly #biases: readonly (readonly [id: number, bias: number])[];

  constructor(parameters: SamplingParameters, seed: bigint, scratch: SamplerScratch) {
    this.#parameters = parameters;
    this.#scratch = scratch;
    this.#random = new PositionalRandom(seed);
    this.#biases = [...parameters.logitBias];
  }

  /** @param tokenIndex how many tokens the output has already */
  sample(logits: Float32Array, history: TokenHistory, tokenIndex: number): number {
    const { temperature } = this.#parameters;
    const kept = temperature === 0 ? 0 : this.filter(logits, history, tokenIndex);
    // With temperature 0, or an infinite logit, nothing is left to chance.
    if (kept === 0) return this.#mostProbable(logits, history, tokenIndex);
    const { candidates, weights } = this.#scratch;
    let total = 0;
    for (let index = 0; index < kept; index++) total += weights[index] as number;
    let left = this.#random.at(tokenIndex) * total;
    for (let index = 0; index < kept; index++) {
      left -= weights[index] as number;
      if (left < 0) return candidates[index] as number;
    }
    // Rounding can leave a rest behind the last one.
    return candidates[kept - 1] as number;
  }

  /**
   * Writes the tokens that may be drawn and their weights to the scratch memory, in order of their ids, and returns how many they are;
   * 0: a logit is infinite, which leaves one choice.
   */
  filter(logits: Float32Array, history: TokenHistory, tokenIndex: number): number {
    const { temperature, topK, minP, topP } = this.#parameters;
    const { vocabularySize, logits: adjusted, bits, candidates, weights, bins } = this.#scratch;
    this.#adjust(logits, history, tokenIndex);
    const greatest = adjusted[this.#indexOfGreatest(adjusted)] as number;
    if (greatest === Number.POSITIVE_INFINITY) return 0;
    const threshold = topK > 0 && topK < vocabularySize ? thresholdByCount(bits, topK, bins) : Number.NEGATIVE_INFINITY;
    let kept = 0;
    for (let id = 0; id < vocabularySize; id++) {
      const logit = adjusted[id] as number;
      if (logit < threshold) continue;
      const weight = Math.exp((logit - greatest) / temperature);
      if (weight === 0 || weight < minP) continue;
      candidates[kept] = id;
      weights[kept] = weight;
      kept += 1;
    }
    return topP < 1 ? cutByMass(candidates, weights, kept, topP, bits, bins) : kept;
  }

  #mostProbable(logits: Float32Array, history: TokenHistory, tokenIndex: number): number {
    this.#adjust(logits, history, tokenIndex);
    return this.#indexOfGreatest(this.#scratch.logits);
  }

  /** Copies the logits, and applies what depends on the token's index, its history and its id. */
  #adjust(logits: Float32Array, history: TokenHistory, tokenIndex: number): void {
    const { repetitionPenalty, presencePenalty, frequencyPenalty, minTokens, eosTokenIds } = this.#parameters;
    const { logits: adjusted, vocabularySize } = this.#scratch;
    if (logits.length !== vocabularySize) {
      throw new RangeError(`got ${logits.length} logits for a vocabulary of ${vocabularySize}`);
    }
    adjusted.set(logits);
    for (const [id, bias] of this.#biases) adjusted[id] = (adjusted[id] as number) + bias;
    if (repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0) {
      for (let slot = 0; slot < history.size; slot++) {
        const id = history.idAt(slot);
        // An embedding may have more rows than there are logits.
        if (id >= vocabularySize) continue;
        const count = history.outputCountAt(slot);
        const logit = adjusted[id] as number;
        const repeated = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
        adjusted[id] = repeated - frequencyPenalty * count - (count > 0 ? presencePenalty : 0);
      }
    }
    if (tokenIndex < minTokens) for (const id of eosTokenIds) adjusted[id] = Number.NEGATIVE_INFINITY;
  }

  /** The lowest id among equals. What is not a number becomes minus infinity on the way. */
  #indexOfGreatest(logits: Float32Array): number {
    let best = -1;
    let greatest = Number.NEGATIVE_INFINITY;
    for (let id = 0; id < logits.length; id++) {
      const logit = logits[id] as number;
      if (logit > greatest) {
        greatest = logit;
        best = id;
      } else if (Number.isNaN(logit)) logits[id] = Number.NEGATIVE_INFINITY;
    }
    if (best < 0) throw new RangeError('no logit is a number above minus infinity; the model gave no usable answer');
    return best;
  }
}
