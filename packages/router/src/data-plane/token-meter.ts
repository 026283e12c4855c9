/** Measures the tokens of one text that a worker generates, for metrics. */
import type { GeneratedUsage } from '@millrace/protocol';
import type { GeneratorObserver } from './observer.ts';

export interface TokenMeterParts {
  /** When the request came, and when the worker got it. */
  readonly arrivedAt: number;
  readonly dispatchedAt: number;
  /** Tokens that an earlier run of the same text gave: they were counted then. */
  readonly tokensCounted: number;
}

export class TokenMeter {
  readonly #observer: GeneratorObserver;
  readonly #parts: TokenMeterParts;
  #firstAt = 0;
  #lastAt: number | undefined;

  constructor(observer: GeneratorObserver, parts: TokenMeterParts) {
    this.#observer = observer;
    this.#parts = parts;
  }

  /** `sequence`: from 1. */
  token(sequence: number, { promptTokens, finishReason }: GeneratedUsage, now: number): void {
    const { arrivedAt, dispatchedAt, tokensCounted } = this.#parts;
    if (sequence <= tokensCounted) return;
    if (sequence === 1) this.#observer.textBegan(promptTokens, now - arrivedAt, now - dispatchedAt);
    this.#observer.tokenGenerated(this.#lastAt === undefined ? undefined : now - this.#lastAt);
    if (this.#lastAt === undefined) this.#firstAt = now;
    this.#lastAt = now;
    if (finishReason !== undefined) this.#observer.textEnded(finishReason, now - this.#firstAt);
  }
}
