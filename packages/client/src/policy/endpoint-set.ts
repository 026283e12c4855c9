/**
 * Which of several servers a call or a stream goes to. The first that is well takes everything, in the order of the list.
 * Pure: time and randomness are arguments, and health checks are asked for, not made.
 */

/** Failures in a row, without an answer in between, that open the circuit of an endpoint. */
export const circuitFailuresMax = 3;
/** How long a circuit is open the first time; doubles with every failed check. */
const openMsInitial = 500;
const openMsMax = 10_000;
/** How long a server that said `draining` is avoided where another is well. */
const drainAvoidMs = 5000;

interface EndpointState {
  failures: number;
  /** The circuit is open until then; 0: it is closed. */
  openUntilMs: number;
  openMs: number;
  isChecking: boolean;
  avoidUntilMs: number;
}

export class EndpointSet {
  readonly #endpoints: EndpointState[];

  constructor(count: number) {
    this.#endpoints = Array.from({ length: count }, () => ({
      failures: 0,
      openUntilMs: 0,
      openMs: openMsInitial,
      isChecking: false,
      avoidUntilMs: 0,
    }));
  }

  /**
   * The endpoint for the next attempt. Where no circuit is closed it is the one that opens soonest again: one attempt more
   * than a refusal without trying costs nothing, and the program learns the reason.
   */
  choose(nowMs: number, avoid = -1): number {
    let best = 0;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const [index, state] of this.#endpoints.entries()) {
      // A retry goes elsewhere, where there is another that is as well.
      const rank = rankOf(state, nowMs) + (index === avoid ? 0.5 : 0);
      if (rank < bestRank) {
        best = index;
        bestRank = rank;
      }
    }
    return best;
  }

  /** Endpoints whose circuit has been open for its time: each is to be asked whether it is ready. */
  takeChecks(nowMs: number): readonly number[] {
    // With one endpoint there is nothing to choose, and the calls themselves find out.
    if (this.#endpoints.length === 1) return [];
    const due: number[] = [];
    for (const [index, state] of this.#endpoints.entries()) {
      if (state.openUntilMs === 0 || state.openUntilMs > nowMs || state.isChecking) continue;
      state.isChecking = true;
      due.push(index);
    }
    return due;
  }

  onAnswer(index: number): void {
    const state = this.#stateOf(index);
    state.failures = 0;
    state.openUntilMs = 0;
    state.openMs = openMsInitial;
  }

  /** The server could not be reached, or did not answer in time. */
  onFailure(index: number, nowMs: number, random: number): void {
    const state = this.#stateOf(index);
    state.failures += 1;
    if (state.failures >= circuitFailuresMax) open(state, nowMs, random);
  }

  /** The server says that it leaves. */
  onDraining(index: number, nowMs: number): void {
    this.#stateOf(index).avoidUntilMs = nowMs + drainAvoidMs;
  }

  onChecked(index: number, isReady: boolean, nowMs: number, random: number): void {
    const state = this.#stateOf(index);
    state.isChecking = false;
    if (isReady) this.onAnswer(index);
    else open(state, nowMs, random);
  }

  /** When a check is due next; Infinity: none. */
  nextCheckAtMs(): number {
    if (this.#endpoints.length === 1) return Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const { openUntilMs, isChecking } of this.#endpoints) {
      if (openUntilMs > 0 && !isChecking) next = Math.min(next, openUntilMs);
    }
    return next;
  }

  #stateOf(index: number): EndpointState {
    return this.#endpoints[index] as EndpointState;
  }
}

function open(state: EndpointState, nowMs: number, random: number): void {
  state.openUntilMs = nowMs + state.openMs * (0.8 + 0.4 * random);
  state.openMs = Math.min(openMsMax, state.openMs * 2);
}

/** Lower is better: well, then draining, then those whose circuit is open, the one that opens next first. */
function rankOf(state: EndpointState, nowMs: number): number {
  if (state.openUntilMs > 0) return 2 + state.openUntilMs;
  return state.avoidUntilMs > nowMs ? 1 : 0;
}
