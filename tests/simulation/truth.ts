import type { BatchId, RequestId, SchedulerAction } from '@millrace/core';
import { formatAction } from '@millrace/core';
import type { ErrorCode } from '@millrace/protocol';
import type { SimulationRandom } from './random.ts';
import type { Weather } from './weather.ts';

/** What a request does to whoever runs it. `blocking`: it hangs, and what runs beside it hangs with it. */
export type Nature = 'plain' | 'poison' | 'hanging' | 'blocking' | 'failing';

/** A rule was broken: a forbidden action, or a missing one. */
export class TruthViolation extends Error {}

export function claim(isTrue: boolean, what: string): asserts isTrue {
  if (!isTrue) throw new TruthViolation(what);
}

/** The facts of the world, which the router may not know: the nature of each request, and which runs ended. */
export class Truth {
  readonly #natures = new Map<RequestId, Nature>();
  readonly #completed = new Map<BatchId, readonly RequestId[]>();
  /** Their worker died under them for no reason, or one of their own batch was no good. */
  readonly #unlucky = new Set<RequestId>();

  decide(request: RequestId, random: SimulationRandom, weather: Weather): void {
    if (random.chance(weather.poisonRequest)) this.#natures.set(request, 'poison');
    else if (random.chance(weather.hangingRequest)) {
      this.#natures.set(request, random.chance(0.5) ? 'hanging' : 'blocking');
    } else if (random.chance(weather.failingRequest)) this.#natures.set(request, 'failing');
  }

  has(requests: readonly RequestId[], nature: Nature): boolean {
    return requests.some((request) => this.#natures.get(request) === nature);
  }

  complete(batch: BatchId, requests: readonly RequestId[]): void {
    this.#completed.set(batch, requests);
  }

  noteMisfortune(requests: readonly RequestId[]): void {
    for (const request of requests) this.#unlucky.add(request);
  }

  noteBatch(requests: readonly RequestId[]): void {
    if (requests.length > 1 && requests.some((request) => this.#natures.has(request))) this.noteMisfortune(requests);
  }

  /** Callers get answers only of runs that happened, with their own rows in them. */
  claimTrue(action: Extract<SchedulerAction, { kind: 'deliver' }>): void {
    const ran = this.#completed.get(action.batch);
    for (const request of action.requests) {
      if (ran?.includes(request) && !this.#natures.has(request)) continue;
      throw new TruthViolation(`no worker ever answered request ${request}: ${formatAction(action)}`);
    }
  }

  /** Whoever ran beside others is refused for its own deeds only; said of what runs on concurrent workers. */
  claimJust(request: RequestId, code: ErrorCode): void {
    if (code !== 'poison-request' && code !== 'run-time-limit') return;
    const isGuilty = this.#natures.has(request) || this.#unlucky.has(request);
    claim(isGuilty, `request ${request} is refused as ${code} for what another did`);
  }
}
