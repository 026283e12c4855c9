import type { RequestId } from '@millrace/core';
import type { Random } from './random.ts';
import type { Weather } from './weather.ts';

/** What a request does to whoever runs it. */
export type Nature = 'plain' | 'poison' | 'hanging' | 'failing';

/** The true nature of requests: known to the workers that run them, unknown to the router. */
export class Natures {
  readonly #natures = new Map<RequestId, Nature>();

  decide(request: RequestId, random: Random, weather: Weather): void {
    if (random.chance(weather.poisonRequest)) this.#natures.set(request, 'poison');
    else if (random.chance(weather.hangingRequest)) this.#natures.set(request, 'hanging');
    else if (random.chance(weather.failingRequest)) this.#natures.set(request, 'failing');
  }

  has(requests: readonly RequestId[], nature: Nature): boolean {
    return requests.some((request) => this.#natures.get(request) === nature);
  }
}
