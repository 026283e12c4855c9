/**
 * Whether one instance gets work: closed, open after it failed where others did not, half-open when one batch may show
 * that it works again. Pure: times come in as arguments.
 */
import { FailureTally } from './failure-tally.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

export interface BreakerPolicy {
  /** This many failures in a row open it. */
  readonly consecutiveMax: number;
  /** So does this share of failures among its recent batches. */
  readonly failureShareMax: number;
  /** The failure share counts only from this many recent batches on. */
  readonly batchesMin: number;
  /** Half-life of a batch in the counts of recent batches. */
  readonly halfLifeMs: number;
  /**
   * Only an instance that fails more than this many times as often as its peers is to blame: requests that fail
   * everywhere are not the fault of whoever runs them.
   */
  readonly peersFactor: number;
  /** How long it stays open at first; twice as long each time it opens again soon. */
  readonly openMs: number;
  readonly openMsMax: number;
}

export const defaultBreakerPolicy: BreakerPolicy = Object.freeze({
  consecutiveMax: 5,
  failureShareMax: 0.5,
  batchesMin: 10,
  halfLifeMs: 15_000,
  peersFactor: 2,
  openMs: 1000,
  openMsMax: 60_000,
});

const never = Number.NEGATIVE_INFINITY;

export class CircuitBreaker {
  readonly tally: FailureTally;
  readonly #policy: BreakerPolicy;
  #failuresInRow = 0;
  #isClosed: boolean = true;
  #openedAt = never;
  #closedAt = never;
  #openMs = 0;
  /** A batch is in flight that shows whether the instance works again. */
  #isProbing: boolean = false;

  constructor(policy: BreakerPolicy) {
    this.#policy = policy;
    this.tally = new FailureTally(policy.halfLifeMs);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** When it becomes half-open; -Infinity for a closed one. */
  get halfOpenAt(): number {
    return this.#isClosed ? never : this.#openedAt + this.#openMs;
  }

  stateAt(nowMs: number): BreakerState {
    if (this.#isClosed) return 'closed';
    return nowMs < this.halfOpenAt ? 'open' : 'half-open';
  }

  /** Closed, or half-open with no trial batch in flight. */
  takesWorkAt(nowMs: number): boolean {
    return this.#isClosed || (!this.#isProbing && nowMs >= this.halfOpenAt);
  }

  /** The instance was given a batch. */
  noteDispatch(nowMs: number): void {
    if (!this.#isClosed && nowMs >= this.halfOpenAt) this.#isProbing = true;
  }

  noteSuccess(dispatchedAt: number, nowMs: number): void {
    this.tally.note(false, nowMs);
    this.#failuresInRow = 0;
    if (!this.#isClosed && !this.#isStale(dispatchedAt)) this.close(nowMs);
  }

  /** `peersFailureShare`: failure share of the model's other instances lately; undefined when they ran nothing. */
  noteFailure(peersFailureShare: number | undefined, dispatchedAt: number, nowMs: number): void {
    this.tally.note(true, nowMs);
    this.#failuresInRow += 1;
    if (this.#isStale(dispatchedAt)) return;
    const wasProbing = this.#isProbing;
    this.#isProbing = false;
    if (!this.#isToBlame(peersFailureShare, nowMs)) return;
    if (this.#isClosed ? this.#failsTooOften(nowMs) : wasProbing) this.#open(nowMs);
  }

  /** A batch ended without having been run: it showed nothing. */
  noteNothing(dispatchedAt: number): void {
    if (!this.#isStale(dispatchedAt)) this.#isProbing = false;
  }

  /** Closes the breaker and resets its counts. */
  close(nowMs: number): void {
    this.#failuresInRow = 0;
    this.tally.clear();
    this.#isProbing = false;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closedAt = nowMs;
  }

  /** Batches dispatched before it opened say nothing about its state now. */
  #isStale(dispatchedAt: number): boolean {
    return !this.#isClosed && dispatchedAt < this.#openedAt;
  }

  #failsTooOften(nowMs: number): boolean {
    const { consecutiveMax, failureShareMax, batchesMin } = this.#policy;
    if (this.#failuresInRow >= consecutiveMax) return true;
    const batches = this.tally.batches(nowMs);
    return batches >= batchesMin && this.tally.failures(nowMs) >= failureShareMax * batches;
  }

  #isToBlame(peersFailureShare: number | undefined, nowMs: number): boolean {
    if (peersFailureShare === undefined) return false;
    const share = this.tally.failures(nowMs) / this.tally.batches(nowMs);
    return share > this.#policy.peersFactor * peersFailureShare;
  }

  #open(nowMs: number): void {
    const { openMs, openMsMax } = this.#policy;
    const isAgain = !this.#isClosed || nowMs - this.#closedAt < openMsMax;
    this.#openMs = isAgain && this.#openMs > 0 ? Math.min(2 * this.#openMs, openMsMax) : openMs;
    this.#isClosed = false;
    this.#openedAt = nowMs;
  }
}
