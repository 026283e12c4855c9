/** One text that is generated: its tokens become answers, one for each token. */
import {
  type GenerationParameters,
  OutputText,
  Sampler,
  type SamplerScratch,
  type TextTokenizer,
  TokenHistory,
} from '@millrace/generation';
import type { FinishReason, InferenceError } from '@millrace/protocol';
import type { DecodedSequence, DecodeLoop } from './decode-loop.ts';

export interface GeneratedToken {
  readonly token: number;
  /** What the token adds to the text: nothing while a character is incomplete or a stop string may have begun. */
  readonly text: string;
  readonly promptTokens: number;
  /** This one included. */
  readonly outputTokens: number;
  /** Of the last token. */
  readonly finishReason: FinishReason | undefined;
}

export interface GenerationParts {
  readonly loop: DecodeLoop;
  readonly tokenizer: TextTokenizer;
  readonly scratch: SamplerScratch;
  readonly prompt: readonly number[];
  readonly parameters: GenerationParameters;
  readonly seed: bigint;
}

/** Tokens that are generated before somebody has taken them: enough that a run does not wait for its slowest reader. */
const tokensAheadMax = 8;

/** Gives the tokens one after the other; generation waits while too many are not taken. */
export class Generation {
  readonly #parts: GenerationParts;
  readonly #sampler: Sampler;
  readonly #history: TokenHistory;
  readonly #text: OutputText;
  readonly #sequence: DecodedSequence;
  readonly #ready: GeneratedToken[] = [];
  #outputTokens = 0;
  #isOver: boolean = false;
  #failure: InferenceError | undefined;
  #onReady: (() => void) | undefined;

  constructor(parts: GenerationParts) {
    this.#parts = parts;
    const { loop, tokenizer, scratch, prompt, parameters, seed } = parts;
    this.#sampler = new Sampler(parameters, seed, scratch);
    this.#history = new TokenHistory(prompt);
    this.#text = new OutputText(tokenizer, prompt, parameters.stop, parameters.minTokens);
    this.#sequence = loop.begin(prompt, {
      onLogits: (logits) => this.#choose(logits),
      onFailed: (error) => {
        this.#failure = error;
        this.#end();
      },
    });
  }

  /** The next token; undefined after the last. Rejects with an `InferenceError`. Not called again before it has resolved. */
  async next(): Promise<GeneratedToken | undefined> {
    if (this.#ready.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#onReady = resolve;
      });
    }
    const token = this.#ready.shift();
    if (token === undefined && this.#failure !== undefined) throw this.#failure;
    if (!this.#isOver && this.#ready.length < tokensAheadMax) this.#sequence.setWanted(true);
    return token;
  }

  /** Nobody needs the rest. */
  end(): void {
    this.#sequence.end();
    this.#ready.length = 0;
    this.#end();
  }

  /** The token that the sequence goes on with; undefined: it has ended. */
  #choose(logits: Float32Array): number | undefined {
    const { prompt, parameters } = this.#parts;
    const token = this.#sampler.sample(logits, this.#history, this.#outputTokens);
    this.#history.addOutput(token);
    this.#outputTokens += 1;
    const isEndToken = !parameters.ignoreEos && parameters.eosTokenIds.includes(token);
    const scanned = isEndToken ? { text: '', stoppedBy: undefined } : this.#text.push(token);
    const isStopped = isEndToken || scanned.stoppedBy !== undefined;
    const finishReason = isStopped ? 'stop' : this.#outputTokens >= parameters.maxTokens ? 'length' : undefined;
    const isCut = scanned.stoppedBy !== undefined;
    const rest = finishReason === undefined || isCut ? undefined : this.#text.end();
    this.#ready.push({
      token,
      text: scanned.text + (rest?.text ?? ''),
      promptTokens: prompt.length,
      outputTokens: this.#outputTokens,
      finishReason: rest?.stoppedBy === undefined ? finishReason : 'stop',
    });
    if (finishReason !== undefined) this.#isOver = true;
    else if (this.#ready.length >= tokensAheadMax) this.#sequence.setWanted(false);
    this.#tellReady();
    return finishReason === undefined ? token : undefined;
  }

  #end(): void {
    this.#isOver = true;
    this.#tellReady();
  }

  #tellReady(): void {
    const onReady = this.#onReady;
    this.#onReady = undefined;
    onReady?.();
  }
}
