/**
 * Whether the bits of a text depend on nothing but its prompt, its parameters and its seed: texts are generated alone, then in every size
 * of company while others join and leave, then again from the beginning up to every position, and with caches that have to be given up.
 */
import { createHash } from 'node:crypto';
import {
  type GenerationParameters,
  resolveDecodeConfig,
  Sampler,
  SamplerScratch,
  TokenHistory,
} from '@millrace/generation';
import type { InferenceSession } from '../../onnxruntime/onnxruntime.ts';
import { DecodeLoop } from '../decode-loop.ts';
import { tokenBytesOf } from '../decoder-tensors.ts';
import type { ReadDecoder } from '../read-decoder.ts';

/** Numbers from 0 to one less than the limit. */
export type RandomBelow = (limit: number) => number;

/** By a seed, as SplitMix32 gives them. */
export function randomBelowFrom(seed: number): RandomBelow {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) % limit;
  };
}

interface Story {
  readonly prompt: readonly number[];
  readonly seed: bigint;
  readonly temperature: number;
}

export interface DeterminismOptions {
  readonly decoder: ReadDecoder;
  readonly session: InferenceSession;
  readonly stories: number;
  /** Of each story, at most. */
  readonly tokensMax: number;
  readonly rowsMax: number;
  readonly seed: number;
  readonly onPhase?: (phase: string) => void;
}

export interface DeterminismReport {
  /** Steps whose logits were compared. */
  readonly steps: number;
  readonly preemptions: number;
  /** What differed; empty: nothing. */
  readonly differences: readonly string[];
}

export async function checkDeterminism(options: DeterminismOptions): Promise<DeterminismReport> {
  const { stories: count, rowsMax, seed, onPhase = () => {} } = options;
  const below = randomBelowFrom(seed);
  const stories = Array.from({ length: count }, (_, index) => storyOf(index, below, options.decoder));
  const run = new ComparedRuns(options, stories);
  onPhase('alone');
  for (const index of stories.keys()) await run.learn(index);
  for (let size = 1; size <= rowsMax; size++) {
    onPhase(`${size} at a time`);
    await run.inCompany(below, size, Math.max(size, Math.min(count, 2 * size)));
  }
  onPhase('again, up to every position');
  await run.upToEveryPosition(below, rowsMax);
  onPhase('with caches that are given up');
  await run.withLittleMemory(below, rowsMax);
  return run;
}

function storyOf(index: number, below: RandomBelow, { tensors, description }: ReadDecoder): Story {
  const [first = 0] = description.defaults.eosTokenIds;
  // Several pieces, one whose cache soon grows, and short ones.
  const length = [100 + below(50), 54 + below(10), 1 + below(30), 1 + below(30)][index % 4] as number;
  const prompt = [first, ...Array.from({ length }, () => 1 + below(tensors.vocabulary - 1))];
  return { prompt, seed: BigInt(below(2 ** 31)), temperature: index % 3 === 0 ? 0 : 1 };
}

class ComparedRuns implements DeterminismReport {
  readonly #options: DeterminismOptions;
  readonly #stories: readonly Story[];
  readonly #scratch: SamplerScratch;
  /** Of each step of a story, a digest of all logits. */
  readonly #alone = new Map<number, readonly string[]>();
  readonly differences: string[] = [];
  steps = 0;
  preemptions = 0;

  constructor(options: DeterminismOptions, stories: readonly Story[]) {
    this.#options = options;
    this.#stories = stories;
    this.#scratch = new SamplerScratch(options.decoder.tensors.vocabulary);
  }

  async learn(index: number): Promise<void> {
    this.#alone.set(index, await this.#told(this.#loop({}), index, this.#options.tokensMax));
  }

  /** Keeps `size` stories going until `total` have ended, each at its end or at a random position. */
  async inCompany(below: RandomBelow, size: number, total: number): Promise<void> {
    const loop = this.#loop({ rowsMax: this.#options.rowsMax });
    let begun = 0;
    const seat = async (): Promise<void> => {
      while (begun < total) {
        begun += 1;
        const index = below(this.#stories.length);
        await this.#compared(loop, index, 1 + below(this.#lengthOf(index)), `${size} at a time`);
      }
    };
    await Promise.all(Array.from({ length: size }, seat));
  }

  /** A text is rebuilt by the same runs, from its prompt to where it was: here up to each position, in random company. */
  async upToEveryPosition(below: RandomBelow, size: number): Promise<void> {
    const loop = this.#loop({ rowsMax: size });
    const rebuilds = this.#stories.flatMap((_, index) =>
      Array.from({ length: this.#lengthOf(index) }, (_value, position) => ({ index, length: position + 1 })),
    );
    for (let end = rebuilds.length - 1; end > 0; end--) {
      const at = below(end + 1);
      [rebuilds[at], rebuilds[end]] = [rebuilds[end] as Rebuild, rebuilds[at] as Rebuild];
    }
    const seat = async (): Promise<void> => {
      for (let next = rebuilds.pop(); next !== undefined; next = rebuilds.pop()) {
        await this.#compared(loop, next.index, next.length, `rebuilt up to ${next.length}`);
      }
    };
    await Promise.all(Array.from({ length: size }, seat));
  }

  async withLittleMemory(below: RandomBelow, size: number): Promise<void> {
    const tokenBytes = tokenBytesOf(this.#options.decoder.tensors);
    // Those whose caches grow while they are generated.
    const growing = [...this.#stories.keys()].filter((index) => index % 4 === 1);
    const lengths = growing.map((index) => (this.#stories[index]?.prompt.length ?? 0) + this.#lengthOf(index));
    let room = 64;
    while (room < Math.max(...lengths)) room *= 2;
    const loop = this.#loop({ rowsMax: size, cacheBytesMax: (room + 64) * tokenBytes });
    await Promise.all(
      Array.from({ length: 2 * size }, () => {
        const index = growing[below(growing.length)] as number;
        return this.#compared(loop, index, this.#lengthOf(index), 'with caches that are given up');
      }),
    );
    this.preemptions += loop.counts.preemptions;
  }

  #lengthOf(index: number): number {
    return this.#alone.get(index)?.length ?? 0;
  }

  #loop(config: { readonly rowsMax?: number; readonly cacheBytesMax?: number }): DecodeLoop {
    const { session, decoder } = this.#options;
    const { tensors } = decoder;
    return new DecodeLoop({
      session,
      tensors,
      config: resolveDecodeConfig({ tokenBytes: tokenBytesOf(tensors), ...config }),
    });
  }

  async #compared(loop: DecodeLoop, index: number, length: number, how: string): Promise<void> {
    const told = await this.#told(loop, index, length);
    const alone = this.#alone.get(index) ?? [];
    this.steps += told.length;
    const at = told.findIndex((digest, step) => digest !== alone[step]);
    if (at >= 0) this.differences.push(`story ${index} ${how}: step ${at} has other bits`);
    if (told.length !== length)
      this.differences.push(`story ${index} ${how}: it ends after ${told.length} of ${length}`);
  }

  /** Digests of the logits of each step, up to the end of the text or this many steps. */
  #told(loop: DecodeLoop, index: number, stepsMax: number): Promise<readonly string[]> {
    const { prompt, seed, temperature } = this.#stories[index] as Story;
    const { eosTokenIds } = this.#options.decoder.description.defaults;
    const sampler = new Sampler({ ...plainParameters, temperature, eosTokenIds }, seed, this.#scratch);
    const history = new TokenHistory(prompt);
    const digests: string[] = [];
    return new Promise((resolve, reject) => {
      loop.begin(prompt, {
        onLogits: (logits) => {
          const bytes = new Uint8Array(logits.buffer, logits.byteOffset, logits.byteLength);
          digests.push(createHash('sha1').update(bytes).digest('base64'));
          const token = sampler.sample(logits, history, digests.length - 1);
          history.addOutput(token);
          if (!eosTokenIds.includes(token) && digests.length < stepsMax) return token;
          resolve(digests);
          return undefined;
        },
        onFailed: reject,
      });
    });
  }
}

interface Rebuild {
  readonly index: number;
  readonly length: number;
}

const plainParameters: Omit<GenerationParameters, 'temperature' | 'eosTokenIds'> = {
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  logitBias: new Map(),
  minTokens: 0,
  stop: [],
  seed: undefined,
  maxTokens: Number.MAX_SAFE_INTEGER,
  ignoreEos: false,
};
