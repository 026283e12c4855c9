import type { BatchId, RequestId, SchedulerAction } from '@millrace/core';
import { formatAction } from '@millrace/core';
import type { Random } from './random.ts';
import { Violation } from './referee.ts';
import type { Weather } from './weather.ts';

/** What a request does to whoever runs it. */
export type Nature = 'plain' | 'poison' | 'hanging' | 'failing';

/** What is so, whatever the router was told: the nature of each request, and which runs came to their end. */
export class Truth {
  readonly #natures = new Map<RequestId, Nature>();
  readonly #completed = new Map<BatchId, readonly RequestId[]>();

  decide(request: RequestId, random: Random, weather: Weather): void {
    if (random.chance(weather.poisonRequest)) this.#natures.set(request, 'poison');
    else if (random.chance(weather.hangingRequest)) this.#natures.set(request, 'hanging');
    else if (random.chance(weather.failingRequest)) this.#natures.set(request, 'failing');
  }

  has(requests: readonly RequestId[], nature: Nature): boolean {
    return requests.some((request) => this.#natures.get(request) === nature);
  }

  complete(batch: BatchId, requests: readonly RequestId[]): void {
    this.#completed.set(batch, requests);
  }

  /** Callers get answers only of runs that happened, with their own rows in them. */
  claimTrue(action: Extract<SchedulerAction, { kind: 'deliver' }>): void {
    const ran = this.#completed.get(action.batch);
    for (const request of action.requests) {
      if (ran?.includes(request) && !this.#natures.has(request)) continue;
      throw new Violation(`no worker ever answered request ${request}: ${formatAction(action)}`);
    }
  }
}
