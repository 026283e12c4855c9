/** What became of the requests of a version with a cache. Versions without one have no such series. */
import type { ModelFamilies } from './model-series.ts';
import type { Counter } from './series.ts';

export class CacheSeries {
  readonly hits: Counter;
  readonly misses: Counter;
  readonly coalesced: Counter;

  constructor(families: ModelFamilies, model: string, version: string) {
    this.hits = families.cacheHits.bind(model, version);
    this.misses = families.cacheMisses.bind(model, version);
    this.coalesced = families.cacheCoalesced.bind(model, version);
  }
}
