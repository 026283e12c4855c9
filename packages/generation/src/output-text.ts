import { type ScannedText, StopStringScanner } from './stop-strings.ts';
import { TokenTextDecoder, type TokenTexts } from './text-decoder.ts';

/**
 * The text of an output as its tokens come, until a stop string. A function of the tokens: after a failover the same ids give the same
 * parts, and the same text is held back.
 */
export class OutputText {
  readonly #decoder: TokenTextDecoder;
  readonly #scanner: StopStringScanner;
  readonly #minTokens: number;
  #tokens = 0;

  /** @param minTokens in the text of so many tokens stop strings do not count */
  constructor(texts: TokenTexts, promptIds: readonly number[], stops: readonly string[], minTokens: number) {
    this.#decoder = new TokenTextDecoder(texts, promptIds);
    this.#scanner = new StopStringScanner(stops);
    this.#minTokens = minTokens;
  }

  push(id: number): ScannedText {
    const text = this.#decoder.push(id);
    this.#tokens += 1;
    return this.#tokens <= this.#minTokens ? { text, stoppedBy: undefined } : this.#scanner.push(text);
  }

  /** The output has no more tokens, and no stop string was found: what was held back. */
  end(): ScannedText {
    const { text, stoppedBy } = this.#scanner.push(this.#decoder.end());
    return { text: text + this.#scanner.end(), stoppedBy };
  }
}
