/**
 * Retry throttling as gRPC has it (gRFC A6): while too many calls fail, nothing is sent twice, so that retries do not keep an
 * overloaded server down. Half of the tokens must be there.
 */
import type { ThrottlePolicy } from './service-config.ts';

export class RetryThrottle {
  readonly #policy: ThrottlePolicy | undefined;
  #tokens: number;

  constructor(policy: ThrottlePolicy | undefined) {
    this.#policy = policy;
    this.#tokens = policy?.tokensMax ?? 0;
  }

  /** An attempt was answered, if only with an error that is not to be repeated. */
  onSuccess(): void {
    const policy = this.#policy;
    if (policy !== undefined) this.#tokens = Math.min(policy.tokensMax, this.#tokens + policy.tokenRatio);
  }

  /** An attempt failed in a way that may be repeated. */
  onFailure(): void {
    this.#tokens = Math.max(0, this.#tokens - 1);
  }

  get isOpen(): boolean {
    return this.#policy === undefined || this.#tokens > this.#policy.tokensMax / 2;
  }
}
