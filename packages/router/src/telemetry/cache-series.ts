/** The cache series of a version: hits, misses and coalesced requests. Versions without a cache have none. */
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
